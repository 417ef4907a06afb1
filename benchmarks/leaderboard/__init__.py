"""Which policy should people run? Problems × policies × budgets, every run kept, and tables of the results.

    problems.py     what is played: synthetic problems, and real ones where their data is at hand
    many.py         problems with many arms, drawn anew for every run
    requests.py     problems with a number of requests beside the budget
    drift.py        problems whose arms change
    contexts.py     problems whose requests carry features
    two_point.py    arms of two costs and two rewards
    real.py         problems from logs of (arm, instance, cost, reward)
    contenders.py   who plays: a line for each policy, with what it is told
    fixed.py        the best arm alone, where there are requests
    store.py        where results are kept, each named by everything it depends on
    play.py         what is not kept yet is played, in several processes
    progress.py     what is seen meanwhile
    cells.py        a policy in a cell (problem × budget): regret, its tail, ratios
    summary.py      a policy over all cells
    tables.py       both, for a terminal and in Markdown
    page.py         the tables of docs/leaderboard.md

`make leaderboard` plays and prints; docs/leaderboard.md says how to read it.
"""
