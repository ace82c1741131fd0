#include "core/gguf/model_text.h"

#include <memory>
#include <utility>

#include "core/base/input_files.h"
#include "core/pack/pack_file.h"

namespace banyan {

namespace {

absl::StatusOr<std::string> GgufText(absl::Span<const std::byte> file,
                                     const std::string& model,
                                     absl::string_view name) {
  BANYAN_ASSIGN_OR_RETURN(const Gguf contents, ParseGguf(file, model));
  if (name == "config.json") {
    BANYAN_ASSIGN_OR_RETURN(const JsonValue config,
                            GgufConfig(contents, model));
    return config.Text(2) + "\n";
  }
  const bool is_config = name == "tokenizer_config.json";
  if (name != "tokenizer.json" && !is_config)
    return absl::NotFoundError(absl::StrCat(model, " has no ", name));
  constexpr char kTokenizer[] = "tokenizer.ggml.model";
  if (contents.keys.find(kTokenizer) == contents.keys.end())
    return absl::NotFoundError(
        absl::StrCat(model, ": ", kTokenizer,
                     ": expected the name of a tokenizer, found no such key"));
  return is_config ? GgufTokenizerConfig(contents, model)
                   : GgufTokenizer(contents, model);
}

}  // namespace

bool IsModelFile(absl::string_view path) {
  return IsGguf(path) || IsPack(path);
}

std::string ModelTextName(const std::string& model, absl::string_view name) {
  return IsModelFile(model) ? model : absl::StrCat(model, "/", name);
}

absl::StatusOr<std::string> ReadModelText(const std::string& model,
                                          absl::string_view name,
                                          std::size_t max_bytes) {
  if (!IsModelFile(model))
    return ReadFile(ModelTextName(model, name), max_bytes);
  if (IsPack(model)) {
    BANYAN_ASSIGN_OR_RETURN(PackHeader header, ReadPackHeader(model));
    const auto found = header.texts.find(std::string(name));
    if (found != header.texts.end()) return std::move(found->second);
    return absl::NotFoundError(absl::StrCat(model, " has no ", name));
  }
  BANYAN_ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> file,
                          MappedFile::Open(model));
  absl::StatusOr<std::string> text = GgufText(file->bytes(), model, name);
  BANYAN_RETURN_IF_ERROR(file->CheckLength());
  return text;
}

}  // namespace banyan
