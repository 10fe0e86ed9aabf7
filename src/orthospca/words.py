"""Public name of :mod:`orthospca.model.words`."""

from orthospca.model.words import IN_ITS_PLACE as IN_ITS_PLACE
from orthospca.model.words import OBJECTIVES as OBJECTIVES
from orthospca.model.words import REASONS as REASONS
from orthospca.model.words import TIES_OPEN as TIES_OPEN
from orthospca.model.words import advice as advice
from orthospca.model.words import bound_label as bound_label
from orthospca.model.words import counted as counted
from orthospca.model.words import explanation as explanation
from orthospca.model.words import gap_of_set as gap_of_set
from orthospca.model.words import is_open as is_open
from orthospca.model.words import is_set as is_set
from orthospca.model.words import kind_of as kind_of
from orthospca.model.words import meaning as meaning
from orthospca.model.words import of_path as of_path
from orthospca.model.words import rounded_up as rounded_up
from orthospca.model.words import verdict as verdict
from orthospca.model.words import written_bound as written_bound
