"""One way to train, whatever the paper, and to spread what takes long.

What trains
    `stack` holds replicates in training, `optimisers` move them along `slopes`, `batches`
    choose their examples, `observers` and `budgets` look on between pauses, `loop` is the
    loop, in one thread (`threads`) or recorded for a GPU (`capture`); `checkpoints` keep
    what is not finished. `modules` and `supervised` take any module of PyTorch.

What a paper runs
    `study` is its configurations and how they are trained, `faults` what can be wrong with
    that on purpose, `records` what came out, `writing` how it is written; `runner` makes a
    task of each configuration.

Where tasks run
    `graph` is tasks that need each other and how they end; `engine` runs them here or on a
    `cluster`, whose scheduler `addresses` find, whose processes `crew` keeps and which
    `serving` has run tasks. `signals` end a program, `stopping` asks what trains to stop,
    `telling` says how far it is, `streams` outlive what they lead to.

What is typed
    `command` is what all command lines share, `options` come from dataclasses, `before` is
    what is checked before hours of work, `bar` shows progress, and `ending` says and draws
    what came out.
"""
