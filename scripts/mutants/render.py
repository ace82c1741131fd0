"""Writes a file's text with all its mutants in it, each asleep until chosen."""

import itertools

from mutant import as_bytes, of_bytes

MOST_MUTANTS = 8192
# What the planted places call. A byte for every mutant is set when it is
# reached; a trace's bytes are shared with the processes a test starts.
HEADER = """#ifndef BANYAN_MUTANT_H_
#define BANYAN_MUTANT_H_

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace banyan_mutant {

inline constexpr int kMutants = %d;

// Made before what other files make before main, which may reach a mutant.
struct State {
  int chosen = -1;
  unsigned char nowhere[kMutants + 1] = {};
  unsigned char* reached = nowhere;

  State() {
    if (const char* number = std::getenv("BANYAN_MUTANT"))
      chosen = std::atoi(number);
    const char* trace = std::getenv("BANYAN_MUTANT_TRACE");
    if (trace == nullptr) return;
    const int file = open(trace, O_RDWR);
    void* bytes = mmap(nullptr, kMutants + 1, PROT_READ | PROT_WRITE,
                       MAP_SHARED, file, 0);
    if (bytes == MAP_FAILED) std::abort();
    close(file);
    reached = static_cast<unsigned char*>(bytes);
  }
};

inline State state __attribute__((init_priority(101)));

inline bool On(int mutant) {
  state.reached[mutant] = 1;
  return mutant == state.chosen;
}

}  // namespace banyan_mutant

#endif  // BANYAN_MUTANT_H_
"""


class Rendering:
    """One file's text; where each mutant's place stands in it."""

    def __init__(self, source, planted):
        """`planted`: {number: mutant}, all of this file."""
        self.source = as_bytes(source)
        self.pieces = []
        self.length = 0
        self.ranges = []  # (start, end, number) in the text written
        self.put('#include "banyan_mutant.h"\n')
        places = {}
        for number, mutant in planted.items():
            key = mutant.start, mutant.end
            places.setdefault(key, []).append((number, mutant))
        # Outer places first.
        self.places = sorted(places.items(),
                             key=lambda item: (item[0][0], -item[0][1]))
        self.span(0, len(self.source), self.places)

    @property
    def text(self):
        return of_bytes("".join(self.pieces))

    def put(self, text):
        self.pieces.append(text)
        self.length += len(text)

    def span(self, start, end, places):
        """The source from start to end with `places`, all within it."""
        at = start
        while places:
            (begin, stop), mutants = places[0]
            inside = list(itertools.takewhile(
                lambda item: item[0][0] < stop, places[1:]))
            assert all(item[0][1] <= stop for item in inside), (
                f"{mutants[0][1].file}: places overlap")
            self.put(self.source[at:begin])
            self.place(begin, stop, mutants, inside)
            at = stop
            places = places[1 + len(inside):]
        self.put(self.source[at:end])

    def place(self, begin, stop, mutants, inside):
        start = self.length
        if mutants[0][1].statement:
            asleep = " && ".join(f"!::banyan_mutant::On({number})"
                                 for number, _ in mutants)
            self.put(f"{{ if ({asleep}) {{ ")
            self.span(begin, stop, inside)
            self.put(" } }")
        else:
            self.expression(begin, stop, mutants, inside)
        for number, _ in mutants:
            self.ranges.append((start, self.length, number))

    def expression(self, begin, stop, mutants, inside):
        # A statement left out has no type, so what stands for it has none.
        void = any(mutant.text == "(void)0" for _, mutant in mutants)
        cast = "(void)" if void else ""
        self.put("(")
        for number, mutant in mutants:
            start = self.length
            self.put(f"::banyan_mutant::On({number}) ? {cast}"
                     f"({as_bytes(mutant.text)})"
                     " : ")
            self.ranges.append((start, self.length, number))
        self.put(f"{cast}(")
        self.span(begin, stop, inside)
        self.put("))")

    def blamed(self, line, column):
        """The mutants of the smallest place around a compiler's complaint, of
        its line if none is."""
        lines = "".join(self.pieces).split("\n")
        first = sum(len(text) + 1 for text in lines[:line - 1])
        at = first + column - 1
        around = [(end - start, number) for start, end, number in self.ranges
                  if start <= at < end]
        if around:
            least = min(around)[0]
            return {number for size, number in around if size == least}
        last = first + len(lines[line - 1])
        return {number for start, end, number in self.ranges
                if start < last and end > first}
