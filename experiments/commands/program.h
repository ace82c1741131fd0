// The program as a function: one subcommand a run.
#ifndef BANYAN_EXPERIMENTS_COMMANDS_PROGRAM_H_
#define BANYAN_EXPERIMENTS_COMMANDS_PROGRAM_H_

namespace banyan {

// Runs main()'s arguments with the project's parts and OwnParts(). Returns the
// exit status. Prints errors, those that the standard library throws too.
int RunProgram(int argc, char** argv);

}  // namespace banyan

#endif  // BANYAN_EXPERIMENTS_COMMANDS_PROGRAM_H_
