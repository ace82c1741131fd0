// make_records FILE [PROMPTS TOKENS]: writes made-up records, with gaps.
//
// For the test that counts them again in Python, and by hand for a large file:
// 164 prompts of 200 tokens are about 100,000 rounds.
#include <cstdlib>
#include <iostream>

#include "tests/support/made/made_records.h"

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4) {
    std::cerr << "make_records FILE [PROMPTS TOKENS]\n";
    return 2;
  }
  banyan::MadeOptions options;
  options.gaps = true;
  options.batches = true;
  options.probes = true;
  options.stores = true;
  if (argc == 4) {
    options.prompts = std::atoi(argv[2]);
    options.tokens = std::atoi(argv[3]);
  }
  banyan::WriteMadeRecords(argv[1], options);
  return 0;
}
