"""A regression problem like KIN40K: how far the hand of a robot arm with eight joints is from a point."""

import numpy as np

JOINTS = 8
RANGE = np.pi / 3  # each joint turns by at most this angle to either side
TWIST = np.pi / 2  # between the axes of successive joints
FIXED_POINT = np.array([0.3, 0.2, 0.4])


def hand_distances(count: int, seed: int, noise: float = 0.02) -> tuple[np.ndarray, np.ndarray]:
    """Return joint angles (count, 8) and the distance of the hand from a fixed point, for an arm of total length 1.

    `noise` is the standard deviation of the measured distance.
    """
    rng = np.random.default_rng(seed)
    angles = rng.uniform(-RANGE, RANGE, (count, JOINTS))
    hand, frame = np.zeros((count, 3)), np.broadcast_to(np.eye(3), (count, 3, 3)).copy()
    for joint in range(JOINTS):
        frame = frame @ _turns(angles[:, joint]) @ _twist(TWIST if joint % 2 else -TWIST)
        hand += frame[:, :, 0] / JOINTS
    distance = np.linalg.norm(hand - FIXED_POINT, axis=1) + noise * rng.standard_normal(count)
    return angles, distance


def _turns(angle: np.ndarray) -> np.ndarray:
    """Return rotations (n, 3, 3) about the third axis."""
    turns = np.zeros((len(angle), 3, 3))
    turns[:, 0, 0] = turns[:, 1, 1] = np.cos(angle)
    turns[:, 1, 0] = np.sin(angle)
    turns[:, 0, 1] = -turns[:, 1, 0]
    turns[:, 2, 2] = 1
    return turns


def _twist(angle: float) -> np.ndarray:
    """Return the rotation about the first axis."""
    return np.array([[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]])
