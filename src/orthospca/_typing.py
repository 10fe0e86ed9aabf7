"""Array types shared by the modules."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]
ArrayLike = npt.ArrayLike
AnyArray = npt.NDArray[Any]
