// The program `banyan`, and any program of banyan_program().
#include "experiments/commands/program.h"

int main(int argc, char** argv) { return banyan::RunProgram(argc, argv); }
