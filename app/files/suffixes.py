"""All substrings of a text in one automaton, to see which of them other texts hold.

Source: Blumer et al. 1985, The smallest automaton recognizing the subwords of a text.
"""

from __future__ import annotations


class Suffixes:
    """The suffix automaton of one text; built and read in linear time.

    A state stands for substrings that end at the same places of the text; its longest has `_length`
    characters, and the longest substring of another state that is a suffix of it is in `_link`.
    """

    def __init__(self, text: str) -> None:
        self._next: list[dict[str, int]] = [{}]
        self._length = [0]
        self._link = [-1]
        self._prefixes = [0]  # the state of text[:n], for each n
        for char in text:
            self._prefixes.append(self._append(char, self._prefixes[-1]))
        # Of each state, the length of its longest substring that was seen.
        self._seen = [0] * len(self._next)

    def _append(self, char: str, last: int) -> int:
        new = self._state({}, self._length[last] + 1)
        at = last
        while at >= 0 and char not in self._next[at]:
            self._next[at][char] = new
            at = self._link[at]
        if at < 0:
            self._link[new] = 0
            return new
        target = self._next[at][char]
        if self._length[at] + 1 == self._length[target]:
            self._link[new] = target
            return new
        twin = self._state(self._next[target].copy(), self._length[at] + 1)
        self._link[twin] = self._link[target]
        self._link[target] = self._link[new] = twin
        while at >= 0 and self._next[at].get(char) == target:
            self._next[at][char] = twin
            at = self._link[at]
        return new

    def _state(self, following: dict[str, int], length: int) -> int:
        self._next.append(following)
        self._length.append(length)
        self._link.append(-1)
        return len(self._next) - 1

    def see(self, other: str) -> None:
        """Note which substrings of the text `other` holds."""
        next_, length_, link, seen = self._next, self._length, self._link, self._seen
        state = length = 0
        for char in other:
            if char in next_[state]:
                length += 1
            else:
                if length > seen[state]:
                    seen[state] = length
                while state and char not in next_[state]:
                    state = link[state]
                length = length_[state] + 1 if char in next_[state] else 0
            state = next_[state].get(char, 0)
            if length > seen[state]:
                seen[state] = length

    def longest(self) -> list[int]:
        """For each n, the length of the longest end of text[:n] that was seen."""
        seen = self._seen.copy()
        order = sorted(range(1, len(seen)), key=self._length.__getitem__)
        for state in reversed(order):
            if seen[state]:
                seen[self._link[state]] = self._length[self._link[state]]
        for state in order:
            seen[state] = seen[state] or seen[self._link[state]]
        return [seen[state] for state in self._prefixes]
