"""One harness for sparse PCA packages: the same data, number of components and sparsity for each.

``python -m benchmarks peers`` measures all of them and writes ``benchmarks/results/peers.csv``;
``pip install -e '.[bench]'`` brings those of PyPI.  What is not installed is skipped, with a
sentence.

``problems`` holds the data, ``tools`` calls each package as its users do, ``r_tools`` those of R,
``baselines`` are the literature's heuristics, ``tuning`` looks for a penalty that leaves p
nonzeros, ``score`` judges components by one definition, ``table`` puts it together.
``published.csv`` holds figures that others published.
"""
