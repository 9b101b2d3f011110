"""One way to train, whatever the paper, and to spread what takes long.

`stack` holds replicates in training, `optimisers` move them, `batches` choose their
examples, `observers` and `budgets` look on between pauses, `loop` is the loop;
`checkpoints` keep what is not finished. `modules` and `supervised` take any module of
PyTorch. `engine` runs tasks that need each other, here or on a `cluster`.
"""
