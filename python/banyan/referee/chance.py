"""Runs a function once for every outcome of its random choices."""


import itertools


class CannotEnumerate(BaseException):
    """The function uses randomness in a way that has no finite list of outcomes.

    Not an Exception, so that a function which catches its own errors does not catch it.
    """


class SampledOnly(UserWarning):
    """A verdict that rests on samples."""


class Tape:
    """The choices of a run, which the next run makes otherwise.

        tape = Tape()
        for result in tape.runs(lambda: run(tape)):    # run asks tape.choose(...)
            use(result, tape.probability)
    """

    TWICE = 8   # runs of each enumeration
    SAME = 1e-9  # by how much weights may differ from those of the run before

    def __init__(self):
        self._choices = []  # [the place among the outcomes, the outcomes' probabilities]
        self._at = 0
        self.probability = 1.0

    def choose(self, weights):
        """An index, which each run takes another of; never one without weight."""
        weights = [float(weight) for weight in weights]
        total = sum(weights)
        if not all(0 <= weight < float("inf") for weight in weights) or not total > 0:
            raise ValueError(f"a choice by the weights {weights}: expected finite numbers "
                             "from 0 on, one of them above 0")
        outcomes = [(index, weight / total) for index, weight in enumerate(weights)
                    if weight > 0]
        if len(outcomes) == 1:
            return outcomes[0][0]
        if self._at == len(self._choices):
            self._choices.append([0, outcomes])
        place, before = self._choices[self._at]
        if ([index for index, _ in before] != [index for index, _ in outcomes]
                or any(abs(a - b) > self.SAME
                       for (_, a), (_, b) in zip(before, outcomes))):
            raise CannotEnumerate(
                "after the same choices the function asked for another one: it uses chance, "
                "or a state of its own, that is not seen")
        self._at += 1
        index, probability = before[place]
        self.probability *= probability
        return index

    def runs(self, run):
        """What `run()` returns, once for every outcome of the choices it asks for.

        The first runs are made twice: chance that is not seen gives them other results.
        """
        for count in itertools.count():
            result = self._once(run)
            if count < self.TWICE and self._once(run) != result:
                raise CannotEnumerate(
                    "the same choices gave another result: the function uses chance, or a "
                    "state of its own, that is not seen")
            yield result
            while self._choices:
                last = self._choices[-1]
                last[0] += 1
                if last[0] < len(last[1]):
                    break
                self._choices.pop()
            else:
                return

    def _once(self, run):
        self._at, self.probability = 0, 1.0
        result = run()
        if self._at != len(self._choices):
            raise CannotEnumerate(
                "after the same choices the function asked for fewer: it uses chance, or a "
                "state of its own, that is not seen")
        return result
