import hashlib
import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from empirical.data import load
from empirical.identity_map import images
from empirical.identity_map.images import Pictures
from empirical.randomness import torch_generator


def patterns(shape=(1, 14, 14), **options):
    return images.patterns(shape, generator=torch_generator(7), **options)


class TestStandardised:
    def test_is_the_formula(self):
        levels = np.arange(24, dtype=np.uint8).reshape(2, 3, 4) * 10
        got = images.standardised(levels)
        want = (levels / 255 - 0.1307) / 0.3081
        np.testing.assert_allclose(got[:, 0].numpy(), want, rtol=1e-15)

    def test_colour_has_its_own_numbers_and_channels_first(self):
        levels = np.arange(24, dtype=np.uint8).reshape(1, 2, 4, 3)
        got = images.standardised(levels, data="cifar10")
        assert got.shape == (1, 3, 2, 4)
        want = (levels[0, 1, 2, 1] / 255 - 0.4822) / 0.2435
        assert float(got[0, 1, 1, 2]) == pytest.approx(want, rel=1e-15)

    def test_refuses_what_is_not_levels(self):
        with pytest.raises(ValueError, match="must be levels, uint8"):
            images.standardised(np.ones((1, 2, 2)))
        with pytest.raises(ValueError, match="must have 3 channels"):
            images.standardised(np.ones((1, 2, 2), np.uint8), data="cifar10")
        with pytest.raises(ValueError, match="must have 1 channels"):
            images.standardised(np.ones((0, 2, 2), np.uint8))
        with pytest.raises(ValueError, match="`data` must be one of mnist"):
            images.standardised(np.ones((1, 2, 2), np.uint8), data="svhn")

    def test_levels(self):
        assert images.level(1.0, channels=3).unique().numel() == 1
        with pytest.raises(ValueError, match="`channels` must be 3 for cifar10"):
            images.level(1.0, data="cifar10", channels=1)


class TestChosen:
    def test_is_the_first_seven_with_its_digest(self):
        digits = load("mnist", "train", cached=False)
        seven = images.chosen((7,))
        (origin,) = seven.origins
        raw = digits.images[origin["index"]]
        assert digits.labels[origin["index"]] == 7
        assert not (digits.labels[: origin["index"]] == 7).any()
        assert origin["sha256"] == hashlib.sha256(raw.tobytes()).hexdigest()
        assert torch.equal(seven.pixels, images.standardised(raw[None]))
        json.dumps(seven.describe(), allow_nan=False)

    def test_repeated_labels_and_skips_are_other_examples(self):
        first, second = images.chosen((7, 7)).origins
        (skipped,) = images.chosen((7,), skip=1).origins
        assert first["index"] < second["index"] == skipped["index"]
        names = images.chosen((7, 7)).names
        assert len(set(names)) == 2

    def test_too_few(self):
        with pytest.raises(ValueError, match="label 11 of mnist has 0"):
            images.chosen((11,))
        with pytest.raises(ValueError, match="`split` must be one of train, test"):
            images.chosen((7,), split="all")
        with pytest.raises(ValueError, match="`skip` must be a whole number"):
            images.chosen((7,), skip=1.5)
        with pytest.raises(ValueError, match="`labels` must name at least one"):
            images.chosen(())


class TestPictures:
    def test_refuses_bad_pixels(self):
        def build(pixels, names=("a",)):
            return Pictures(pixels=pixels, names=names, origins=({},))

        with pytest.raises(ValueError, match="must be finite, but 1 of 4"):
            build(torch.tensor([[[[1.0, torch.nan], [0.0, 1.0]]]]))
        with pytest.raises(ValueError, match="at least one pixel"):
            build(torch.ones(1, 1, 0, 3))
        with pytest.raises(ValueError, match="must be floating point"):
            build(torch.ones(1, 1, 2, 3, dtype=torch.uint8))
        with pytest.raises(ValueError, match="one for each of 1 images"):
            build(torch.ones(1, 1, 2, 3), names=("a", "b"))

    def test_select_keeps_the_order_asked_for(self):
        drawn = patterns()
        some = drawn.select(["disc", "rows"])
        assert some.names == ("disc", "rows")
        assert torch.equal(some.pixels[1], drawn.pixels[1])
        with pytest.raises(ValueError, match=r"e\.g\. 'dots'"):
            drawn.select(["dots"])

    def test_joined(self):
        drawn = patterns()
        both = images.joined(drawn.select(["rows"]), drawn.select(["disc"]))
        assert both.names == ("rows", "disc")
        with pytest.raises(ValueError, match="must share one shape"):
            images.joined(drawn, patterns((1, 7, 7)).select(["rows"]))

    def test_coloured_has_equal_channels(self):
        colour = images.chosen((7,)).coloured()
        assert colour.shape == (3, 28, 28)
        assert torch.equal(colour.pixels[:, 0], colour.pixels[:, 2])
        with pytest.raises(ValueError, match="must have one channel"):
            colour.coloured()

    def test_channelled_has_different_ones(self):
        colour = images.channelled(images.chosen((7, 1, 4)))
        assert colour.shape == (3, 28, 28)
        assert colour.names == ("7/1/4",)
        assert torch.equal(colour.pixels[0, 1], images.chosen((1,)).pixels[0, 0])
        with pytest.raises(ValueError, match="must be grey"):
            images.channelled(colour)


class TestSizes:
    @settings(max_examples=40)
    @given(
        source=st.tuples(st.integers(1, 9), st.integers(1, 9)),
        target=st.tuples(st.integers(1, 20), st.integers(1, 20)),
    )
    def test_placing_and_taking_back(self, source, target):
        x = torch.arange(1.0, 1 + 2 * source[0] * source[1])
        x = x.reshape(1, 2, *source).double()
        got = images.place(x, target, fill=0.0)
        assert got.shape == (1, 2, *target)
        kept = min(source[0], target[0]) * min(source[1], target[1])
        assert int((got != 0).sum()) == 2 * kept
        larger = target[0] >= source[0] and target[1] >= source[1]
        if larger:
            assert torch.equal(images.place(got, source, fill=0.0), x)

    @pytest.mark.parametrize("size", [7, 14, 28, 56, 112, (9, 31)])
    def test_resizing_keeps_constants_and_commutes_with_levels(self, size):
        x = torch.rand(2, 1, 28, 28, generator=torch_generator(7)).double()
        got = images.resize(x, size)
        edges = (size, size) if isinstance(size, int) else size
        assert got.shape == (2, 1, *edges)
        # Weights sum to one up to the rounding of at most 8 x 8 of them.
        torch.testing.assert_close(
            images.resize(3.0 * x - 1.0, size), 3.0 * got - 1.0, rtol=0, atol=1e-13
        )

    def test_halving_is_antialiased(self):
        spot = torch.zeros(1, 1, 28, 28)
        spot[..., 13, 14] = 1.0
        # A triangle of half-width 2 has weights 1/8, 3/8, 3/8, 1/8 along an edge, and
        # the spot reaches two pixels each way; without antialiasing it reaches one.
        got = images.resize(spot, 14)
        assert int((got > 0).sum()) == 4
        assert float(got.max()) == pytest.approx(9 / 64, abs=1e-6)

    @pytest.mark.parametrize("size", [0, -7, (3, 0)])
    def test_bad_sizes(self, size):
        for change in (images.resize, lambda x, s: images.place(x, s, fill=0.0)):
            with pytest.raises(ValueError, match="`size` must be at least 1"):
                change(torch.ones(1, 1, 3, 3), size)

    @pytest.mark.parametrize("size", [2.5, True, (3, 2.0)])
    def test_sizes_are_whole_numbers(self, size):
        for change in (images.resize, lambda x, s: images.place(x, s, fill=0.0)):
            with pytest.raises(ValueError, match="`size` must be a whole number"):
                change(torch.ones(1, 1, 3, 3), size)
        assert images.resize(torch.ones(1, 1, 3, 3), np.int64(2)).shape[2:] == (2, 2)

    def test_bad_canvas(self):
        with pytest.raises(ValueError, match="place: `fill` must be finite"):
            images.place(torch.ones(1, 1, 3, 3), 5, fill=np.nan)


class TestMade:
    def test_mixture(self):
        pair = images.chosen((3, 8))
        mixed = images.mixture(pair, "3", "8", 0.25)
        want = 0.25 * pair.pixels[0] + 0.75 * pair.pixels[1]
        assert torch.equal(mixed.pixels[0], want)
        assert [o["label"] for o in mixed.origins[0]["of"]] == [3, 8]
        with pytest.raises(ValueError, match=r"`share` must lie in \[0, 1\]"):
            images.mixture(pair, "3", "8", 1.5)

    @pytest.mark.parametrize("shape", [(1, 7, 7), (1, 28, 28), (3, 5, 9), (1, 1, 1)])
    def test_patterns_are_what_they_are_called(self, shape):
        drawn = patterns(shape)
        assert drawn.shape == shape
        black, white = (float(images.level(v)) for v in (0.0, 1.0))
        assert float(drawn.pixels.min()) >= black - 1e-15
        assert float(drawn.pixels.max()) <= white + 1e-15
        constant, rows, columns, checked = drawn.pixels[:4]
        assert constant.unique().numel() == 1
        assert torch.equal(rows, rows[..., :1].expand_as(rows))
        assert torch.equal(columns, columns[:, :1].expand_as(columns))
        if min(shape[1:]) >= 2:
            assert rows.unique().numel() == checked.unique().numel() == 2

    def test_one_pattern_is_drawn_by_chance(self):
        one = patterns()
        other = images.patterns((1, 14, 14), generator=torch_generator(8))
        same = [
            torch.equal(a, b) for a, b in zip(one.pixels, other.pixels, strict=True)
        ]
        assert same == [name != "random" for name in one.names]

    def test_bad_patterns(self):
        with pytest.raises(ValueError, match="each at least 1"):
            patterns((1, -2, 3))

    @pytest.mark.parametrize("shape", [(1, 14, 14), (3, 32, 32)])
    def test_unseen(self, shape):
        shown = images.unseen(shape, generator=torch_generator(7))
        assert shown.shape == shape
        assert shown.names[:10] == tuple("0123456789")
        assert shown.names[-6:] == patterns(shape).names
        assert all(o["split"] == "test" for o in shown.origins[:10])
        # No direction is missing: every image has a cosine with every other.
        assert bool(shown.pixels.flatten(1).any(dim=1).all())
