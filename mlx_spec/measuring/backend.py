"""What is known of the costs of one pair on one backend: from probes, and from earlier runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mlx_spec.measuring.measured import Measured, bucket
from mlx_spec.policy.auto import AutoK
from mlx_spec.policy.controller import Controller, FixedK


class Backend:
    """Gathers measurements, one for each bucket of depths, and hands them to the controller."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._record = controller.record
        self._measured: dict[int, Measured] = {}
        self._complete: set[int] = set()

    def wants(self, depth: int) -> bool:
        """Whether measuring at `depth` tokens would tell anything that somebody needs."""
        return self._record is not None and (bucket(depth) not in self._complete or not self._compares)

    def knows(self, depth: int) -> bool:
        """Whether all costs at `depth` tokens are known, of this run or of an earlier one."""
        return bucket(depth) in self._complete

    @property
    def _compares(self) -> bool:
        """Whether plain steps of this run tell what rounds compare with; a fixed K makes none."""
        return self._record is None or not isinstance(self._controller, FixedK) or self._record.paired

    def refresh(self, found: Measured) -> None:
        """Take the present times of one row and of a plain step; what `knows` stands for stays."""
        known = self._measured[bucket(found.depth)]
        self._add(replace(known, row_s=found.row_s, plain=found.plain), fresh=True)

    @property
    def knows_drafting(self) -> bool:
        """Whether the source's cost was measured at any depth."""
        return any(found.drafts for found in self._measured.values())

    def take(self, found: Measured, *, complete: bool) -> bool:
        """Take a measurement of this run.

        Args:
            found: from a probe. Without draft costs, those of another depth stand in.
            complete: the probe had all the time that it wanted.

        Returns:
            Whether it is of use: what other programs spoilt is left alone, and rounds tell more.
        """
        if not found.steady:
            return False
        if not found.drafts and self.knows_drafting:
            drafts = next(other.drafts for other in self._measured.values() if other.drafts)
            found = replace(found, drafts=drafts)
        self._add(found, fresh=True)
        if complete:
            self._complete.add(bucket(found.depth))
        return True

    def _add(self, found: Measured, *, fresh: bool) -> None:
        self._measured[bucket(found.depth)] = found
        if self._record is not None:
            self._record.learn(found.costs(fresh=fresh))

    def recall(self, depths: Mapping[int, Any], controller: Mapping[str, Any] | None) -> None:
        """Take up what `learnt` gave in an earlier run of the same pair on the same backend.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: that is damaged; nothing of it was taken up.
        """
        found = [Measured.from_json(data) for data in depths.values()]
        if controller is not None and isinstance(self._controller, AutoK):
            self._controller.restore(controller)
            self._record = self._controller.record
        for measured in found:
            self._add(measured, fresh=False)
            self._complete.add(bucket(measured.depth))

    def learnt(self) -> dict[str, Any]:
        """What is worth keeping for another run: `depths` and `controller`, JSON-ready."""
        kept = {depth: self._measured[depth].as_json() for depth in sorted(self._complete)}
        auto = self._controller if isinstance(self._controller, AutoK) else None
        return {"depths": kept, "controller": auto.as_dict() if auto else None}
