"""One training image and the identity map: closed forms and bounds.

Source: Zhang, Bengio, Hardt, Mozer, Singer, *Identity Crisis: Memorization and
Generalization under Extreme Overparameterization* (ICLR 2020).
"""
