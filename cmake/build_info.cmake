# Writes OUT, the .cc of experiments/run/run_file.h, if what it says has changed.
execute_process(COMMAND git -C ${SOURCE} describe --always --abbrev=12 --dirty
                OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(revision unknown)
endif()
file(WRITE ${OUT}.new "#include \"experiments/run/run_file.h\"

namespace banyan {

const char* const kBuildRevision = \"${revision}\";
const char* const kBuildCompiler = \"${COMPILER}\";
const char* const kBuildFlags = \"${FLAGS}\";
const char* const kBuildType = \"${TYPE}\";

}  // namespace banyan
")
file(COPY_FILE ${OUT}.new ${OUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUT}.new)
