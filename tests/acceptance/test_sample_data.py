"""The samples have the claimed properties: hard by colour, easy by texture, with typical defects."""

from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image
from skimage.feature import local_binary_pattern
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import v_measure_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benthoscope.sample_data import albums_path, campaign_path, make_campaign, read_truth
from benthoscope.sample_data.dives import plan
from benthoscope.sample_data.photographs.scenes import SCENES
from benthoscope.sample_data.seafloor.habitats import HABITATS

MEGABYTE = 10**6


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """700 images over all eight sites, 320x240."""
    return make_campaign(tmp_path_factory.mktemp("sample") / "c", dives=8, images=700, workers=1)


@pytest.fixture(scope="module")
def colours(campaign):
    """The mean colour of each labelled image of the campaign."""
    return mean_colours(campaign)


def labelled(truth):
    return [image for image in truth.images if image.label and image.quality == "good"]


def pixels(truth, image):
    with Image.open(truth.folder / image.image) as opened:
        return np.asarray(opened.convert("RGB"), np.float32)


def mean_colours(truth):
    return np.array([pixels(truth, image).mean((0, 1)) for image in labelled(truth)])


def textures(truth):
    return np.array([texture(pixels(truth, image)) for image in labelled(truth)])


def texture(image):
    """Local binary patterns and gradient statistics of the grey image at three scales."""
    grey = Image.fromarray(image.mean(2).astype(np.uint8))
    return np.concatenate([_at_scale(np.asarray(grey.reduce(scale))) for scale in (1, 2, 4)])


def _at_scale(grey):
    patterns = np.histogram(local_binary_pattern(grey, 8, 1, "uniform"), 10, (0, 10), density=True)[0]
    steep = np.log1p(np.hypot(*np.gradient(grey.astype(np.float32))))
    return [*patterns, steep.mean(), steep.std(), np.percentile(steep, 95)]


def habitats(truth):
    return np.array([image.label for image in labelled(truth)])


def agreement(features, labels):
    clusters = KMeans(len(set(labels)), n_init=5, random_state=0).fit_predict(features)
    return v_measure_score(labels, clusters)


def told_apart(features, labels):
    """Return the cross-validated accuracy of a linear classifier."""
    return cross_val_score(make_pipeline(StandardScaler(), LinearDiscriminantAnalysis()), features, labels, cv=5).mean()


def test_mean_colour_alone_gives_poor_accuracy(campaign, colours):
    assert agreement(colours, habitats(campaign)) < 0.5
    assert agreement(mean_colours(read_truth(campaign_path())), habitats(read_truth(campaign_path()))) < 0.5


def test_texture_separates_habitats_far_better_than_colour(campaign, colours):
    labels, texture_rows = habitats(campaign), textures(campaign)
    assert told_apart(texture_rows, labels) > max(0.80, told_apart(colours, labels) + 0.35)
    scaled = StandardScaler().fit_transform(texture_rows)
    assert agreement(scaled, labels) > agreement(colours, labels) + 0.2


def test_red_is_lost_with_altitude(campaign, colours):
    altitude = {
        f"{dive.folder}/{frame.file}": frame.altitude
        for dive in plan(8, 700, np.random.default_rng([0, 1]))
        for frame in dive.frames
    }
    by_group = defaultdict(list)
    for image, (red, green, _) in zip(labelled(campaign), colours, strict=True):
        by_group[image.group, image.label].append((altitude[image.image], np.log(red / green)))
    rows = np.concatenate([np.array(each) - np.mean(each, axis=0) for each in by_group.values()])
    assert np.corrcoef(rows.T)[0, 1] < -0.15  # within a dive and a habitat


def test_corners_are_darker_than_the_middle(campaign):
    mean = np.mean([pixels(campaign, image).mean(2) for image in labelled(campaign)], axis=0)
    corners = np.mean([mean[:30, :30], mean[:30, -30:], mean[-30:, :30], mean[-30:, -30:]])
    assert corners < 0.85 * mean[90:150, 120:200].mean()


def test_bad_frames_differ_from_good_ones(tmp_path):
    truth = make_campaign(tmp_path / "c", dives=2, images=400, size=(160, 120), workers=1)
    sharpness_by_kind = defaultdict(list)
    for image in truth.images:
        shown = pixels(truth, image)
        sharpness_by_kind[image.quality].append((shown.mean(), np.abs(np.diff(shown.mean(2), axis=1)).mean()))
    bright, rough = ({quality: np.mean(each, axis=0)[n] for quality, each in sharpness_by_kind.items()} for n in (0, 1))
    assert bright["black"] < 15
    assert bright["over-exposed"] > 1.6 * bright["good"]
    assert max(rough["blurred"], rough["mid-water"]) < 0.6 * rough["good"]


def test_masks_agree_with_the_name_of_the_habitat(campaign):
    shares = {image: shares_of(campaign, image) for image in campaign.masked}
    of = {
        name: [shares[image] for image in campaign.masked if campaign.labels[image] == name]
        for name in set(campaign.labels.values())
    }
    assert all(share["screw shell"] > 0.5 for share in of["screw shell rubble > 50 %"])
    assert all(0 < share["screw shell"] < 0.5 for share in of["screw shell rubble < 50 %"])
    assert all(0.05 < share["sand"] < 0.98 for share in of["sand/reef interface"])
    main = {"kelp": "kelp", "sea-grass": "seagrass", "sponge garden": "sponge", "coral": "coral"}
    for habitat, thing in main.items():
        assert np.mean([share[thing] for share in of[habitat]]) > 0.25
        other_shares = [share[thing] for name, each in of.items() if name != habitat for share in each]
        assert np.mean(other_shares) < 0.05


def shares_of(truth, image):
    mask = truth.mask(image)
    counts = np.bincount(mask.ravel(), minlength=len(truth.classes)) / mask.size
    return Counter({truth.classes[n]: share for n, share in enumerate(counts)})


def test_point_counts_and_masks_show_the_same_mixture_of_objects(campaign):
    points = Counter(point.label for point in campaign.points)
    pixels_of = sum((shares_of(campaign, image) for image in campaign.masked), Counter())
    counted, covered = (np.array([each[name] for name in campaign.classes.values()]) for each in (points, pixels_of))
    counted, covered = counted / counted.sum(), covered / covered.sum()
    assert np.abs(counted - covered).sum() / 2 < 0.15  # other images of the same dives


def test_the_shipped_campaign_is_small_complete_and_varied():
    truth = read_truth(campaign_path())
    assert (campaign_path() / "sample.json").is_file()
    assert not list(campaign_path().rglob("*.part*"))
    assert len(truth.images) == 240
    assert len({image.group for image in truth.images}) == 6
    counts = Counter(truth.labels.values())
    assert set(counts) == {habitat.name for habitat in HABITATS}
    assert min(counts.values()) >= 5
    assert len(truth.masked) >= 50
    assert len({point.image for point in truth.points}) >= 50


def test_shipped_samples_take_little_room():
    sizes = [
        sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        for folder in (campaign_path(), albums_path())
    ]
    assert MEGABYTE < sizes[0] < 5.5 * MEGABYTE
    assert sum(sizes) < 6 * MEGABYTE


def test_every_shipped_image_has_its_size_and_an_entry_in_the_truth():
    for folder in (campaign_path(), albums_path()):
        known = {image.image for image in read_truth(folder).images}
        assert known == {path.relative_to(folder).as_posix() for path in folder.rglob("*.jpg")}
        for image in known:
            with Image.open(folder / image) as opened:
                opened.load()
                assert opened.size == (320, 240)


def test_the_shipped_albums_show_every_scene():
    truth = read_truth(albums_path())
    assert set(truth.labels.values()) == {scene.name for scene in SCENES}
    assert len({image.group for image in truth.images}) == 4


def test_habitats_run_along_the_shipped_tracks():
    truth = read_truth(campaign_path())
    same = [a.label == b.label for a, b in pairwise(truth.images) if a.group == b.group]
    shares = [Counter(i.label for i in truth.images if i.group == g) for g in {i.group for i in truth.images}]
    chance = np.mean([sum((n / each.total()) ** 2 for n in each.values()) for each in shares])
    assert np.mean(same) > chance + 0.2
