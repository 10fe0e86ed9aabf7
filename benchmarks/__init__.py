"""How fast components are certified: tables that one command measures on any machine.

``python -m benchmarks`` measures all of them, ``python -m benchmarks noise stages`` only these two.
``docs/how-to/benchmarks.md`` says how to read them.

``instances`` holds the problems, ``timing`` the clock and the unit of time, ``measure`` turns a
solve into rows, ``tables`` says which solves make up which table, ``report`` prints and writes.
"""
