"""What any drafter must beat: tables, copying, and compressors.

A drafter without a model is worth little if a table does as well, and bits per
byte mean little without those of a good compressor.
"""

import gzip
import lzma

import numpy
import torch


class PairTable:
    """Gives the distribution of the token `distance` places on, from the last
    token alone: counts of the training text, smoothed by the distribution of
    single tokens."""

    def __init__(self, ids, vocab_size, distance=1, strength=1.0):
        single = numpy.bincount(ids, minlength=vocab_size) + 0.01
        self.prior = strength * (single / single.sum()).astype(numpy.float32)
        pairs, counts = numpy.unique(
            ids[:-distance].astype(numpy.int64) * vocab_size + ids[distance:],
            return_counts=True)
        self.counts = counts.astype(numpy.float32)
        self.next = pairs % vocab_size
        # Pairs of token t are first[t] to first[t + 1].
        self.first = numpy.searchsorted(
            pairs, numpy.arange(vocab_size + 1) * vocab_size)

    def __call__(self, ids):
        chances = numpy.tile(self.prior, (len(ids), 1))
        for row, last in zip(chances, ids.tolist()):
            known = slice(self.first[last], self.first[last + 1])
            row[self.next[known]] += self.counts[known]
        return torch.from_numpy(numpy.log(chances))


def longest_match(ids, end_of_text, longest=8):
    """For every place, where the continuation of the latest earlier occurrence
    of the longest run (of at most `longest` tokens) that ends there begins; -1
    if the document, which `end_of_text` opens, has none."""
    where = numpy.full(len(ids), -1, dtype=numpy.int64)
    values = [int(i) for i in ids]
    opened = 0
    for place, value in enumerate(values):
        if value == end_of_text:
            opened = place
            last_seen = [{} for _ in range(longest + 1)]
        for length in range(min(longest, place + 1 - opened), 0, -1):
            run = tuple(values[place + 1 - length:place + 1])
            if where[place] < 0 and run in last_seen[length]:
                where[place] = last_seen[length][run]
            last_seen[length][run] = place + 1
    return where


def compressed_bits_per_byte(text, training_text):
    """By gzip -9, xz -9e, and xz that has read the training text first."""
    size = len(text)

    def xz(data):
        filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME,
                    "dict_size": 1 << 27}]
        return len(lzma.compress(data, format=lzma.FORMAT_XZ, filters=filters))

    return {
        "gzip -9": 8 * len(gzip.compress(text, 9)) / size,
        "xz -9e": 8 * xz(text) / size,
        "xz -9e after the training text":
            8 * (xz(training_text + text) - xz(training_text)) / size,
    }
