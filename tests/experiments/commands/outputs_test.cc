// What commands write: never onto what they read, into a device as into one,
// and files whole or not at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "experiments/records/record.pb.h"
#include "tests/core/checkpoint/files.h"
#include "tests/experiments/run_program.h"
#include "tests/support/few_bytes.h"
#include "tests/support/made/made_records.h"

namespace banyan {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kEarlyExit[] = "configs/methods/early_exit.yaml";

// Tests run in the project's root.
class Outputs : public testing::Test {
 protected:
  Outputs() {
    fs::create_directories(Path("run"));
    WriteMadeRecords(Records(), {});
    fs::create_directories(Path("model"));
    for (const char* name : {"config.json", "model.safetensors",
                             "tokenizer.json", "tokenizer_config.json"})
      fs::copy_file(absl::StrCat("models/pycode-target/", name),
                    Path(absl::StrCat("model/", name)));
    folder_.Write("corpus.txt", "def f(x):\n    return x\n");
    folder_.Write("w.jsonl", "{\"id\": \"a\", \"prompt\": \"def f(x):\"}\n");
    folder_.Write("tree.yaml", "policy: {name: chain, nodes: 2}\n");
    fs::copy_file(kEarlyExit, Path("m.yaml"));
  }

  std::string Path(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  std::string Records() const { return Path("run/records-0-of-1.banyan"); }

  // The command ends with its output's option, and `input` is named for it,
  // itself and through a link.
  void ExpectRefused(const std::string& command,
                     const std::string& input) const {
    const std::string before = folder_.Read(input);
    const std::string link = Path("link");
    fs::remove(link);
    fs::create_symlink(Path(input), link);
    for (const std::string& out : {Path(input), link}) {
      const Outcome outcome = RunProgram(absl::StrCat(command, " ", out));
      EXPECT_EQ(outcome.code, 2) << command << "\n" << outcome.output;
      EXPECT_THAT(outcome.err,
                  AllOf(StartsWith("banyan: --"),
                        HasSubstr("expected a file of its own, found " + out)))
          << command;
      EXPECT_TRUE(folder_.Read(input) == before) << command;
    }
  }

  const TestFolder folder_;
};

TEST_F(Outputs, AreNoneOfTheCommandsInputs) {
  const std::string model = " --model " + Path("model");
  const std::string decode =
      absl::StrCat(model, " --method ", Path("m.yaml"), " --workload ",
                   Path("w.jsonl"), " --prompts 1 --max-new-tokens 2 ");
  for (const char* reader : {"report ", "export ", "measure "}) {
    ExpectRefused(absl::StrCat(reader, Path("run"), " --out"),
                  "run/records-0-of-1.banyan");
    ExpectRefused(absl::StrCat(reader, Records(), " --out"),
                  "run/records-0-of-1.banyan");
  }
  ExpectRefused(
      absl::StrCat("make counts", model, " ", Path("corpus.txt"), " --out"),
      "corpus.txt");
  for (const char* file : {"model/model.safetensors", "model/tokenizer.json"})
    ExpectRefused(
        absl::StrCat("make counts", model, " ", Path("corpus.txt"), " --out"),
        file);
  ExpectRefused(absl::StrCat("measure", model, " --rounds 1 --out"),
                "model/config.json");
  const std::string drafters =
      absl::StrCat("measure ", Path("m.yaml"), model, " --workload ",
                   Path("w.jsonl"), " --prompts 1 --out");
  ExpectRefused(drafters, "w.jsonl");
  ExpectRefused(drafters, "m.yaml");
  ExpectRefused("make layers" + decode + "--steps 1 --out", "m.yaml");
  ExpectRefused(absl::StrCat("make layers", decode, "--steps 1 --out ",
                             Path("o"), " --path"),
                "w.jsonl");
  ExpectRefused(absl::StrCat("tree ", Path("tree.yaml"), " --svg"),
                "tree.yaml");
  const Outcome same =
      RunProgram(absl::StrCat("make layers", decode, "--steps 1 --out ",
                              Path("o"), " --path ", Path("run/../o")));
  EXPECT_EQ(same.code, 2) << same.output;
  EXPECT_THAT(same.err, HasSubstr("expected a file of its own"));
}

TEST_F(Outputs, StandBesideTheInputs) {
  for (int i = 0; i < 2; ++i) {  // the second time there is one already
    const Outcome page = RunProgram(absl::StrCat(
        "report ", Path("run"), " --format csv --out ", Path("run/r.csv")));
    EXPECT_EQ(page.code, 0) << page.output;
    const Outcome curve = RunProgram(
        absl::StrCat("measure --model ", Path("model"), " --rounds 1 --batch 1",
                     " --context 1 --out ", Path("model/curve.yaml")));
    EXPECT_EQ(curve.code, 0) << curve.output;
  }
  EXPECT_THAT(folder_.Read("run/r.csv"), StartsWith("cell,"));
}

TEST_F(Outputs, GoThroughLinksAndIntoDevices) {
  const std::string count = absl::StrCat("make counts --model ", Path("model"),
                                         " ", Path("corpus.txt"), " --out ");
  folder_.Write("target", "old");
  fs::create_symlink("target", Path("l"));
  EXPECT_EQ(RunProgram(count + Path("l")).code, 0);
  EXPECT_TRUE(fs::is_symlink(Path("l")));
  EXPECT_NE(folder_.Read("target"), "old");
  if (mknod(Path("null").c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0)
    GTEST_SKIP() << "only the administrator makes devices";
  const Outcome outcome = RunProgram(count + Path("null"));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(fs::is_character_file(Path("null")));
}

TEST_F(Outputs, LeaveTheOldFileWhereTheDiskIsFull) {
  folder_.Write("page.html", "old");
  for (const std::string& command :
       {"report " + Path("run") + " --format html --out ",
        "export " + Path("run") + " --out "}) {
    const FewBytes few(2000);
    const Outcome full = RunProgram(command + Path("page.html"));
    EXPECT_NE(full.code, 0) << full.output;
    EXPECT_THAT(full.err, HasSubstr("page.html: File too large"));
    EXPECT_EQ(folder_.Read("page.html"), "old");
  }
}

// On a terminal, in a file and in JSON alike names are the same; only what is
// printed for people spells out what a terminal would obey.
TEST_F(Outputs, SpellOutControlCharactersOfNames) {
  records::Context context = MadeContext({});
  const std::string escape = "a\x1b[31m\n\u202e";
  context.set_question("Is it " + escape + "?");
  for (records::Cell& cell : *context.mutable_cells())
    if (cell.name() == "chain") {
      cell.set_name(escape);
      cell.set_method(escape);
    }
  fs::remove(Records());
  WriteMadeRecords(Records(), {}, context);
  for (const char* format : {"", " --all"}) {
    const Outcome outcome =
        RunProgram(absl::StrCat("report ", Path("run"), format));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("a\\x1b[31m")) << format;
    EXPECT_THAT(outcome.output, Not(HasSubstr("\x1b"))) << format;
    EXPECT_THAT(outcome.output, Not(HasSubstr("\u202e"))) << format;
  }
  const Outcome unknown =
      RunProgram(absl::StrCat("report ", Path("run"), " --reference 'a\x1b'"));
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, Not(HasSubstr("\x1b")));
  const Outcome csv =
      RunProgram(absl::StrCat("report ", Path("run"), " --format csv"));
  EXPECT_THAT(csv.out, HasSubstr(escape));
}

}  // namespace
}  // namespace banyan
