// What a checkpoint's config.json says, in the words of one decoder graph:
// every family fills in this description, and the graph (transformer.h) is
// written once against it.
//
// The readers of the families read it with a ConfigReader, key by key.
#ifndef BANYAN_CORE_CHECKPOINT_ARCHITECTURE_H_
#define BANYAN_CORE_CHECKPOINT_ARCHITECTURE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/common.h"
#include "core/base/messages.h"
#include "core/base/token.h"
#include "core/json/json_value.h"

namespace banyan {

// Rotary positions: dimension i of a head turns with dimension i + head_dim
// / 2.
struct Rope {
  enum class Scaling { kNone, kLinear, kLlama3 };

  double theta = 10000;
  Scaling scaling = Scaling::kNone;
  double factor = 1;                // kLinear and kLlama3
  double low_frequency_factor = 1;  // the rest: kLlama3
  double high_frequency_factor = 4;
  int original_context = 8192;
};

// A matrix or vector the graph reads: rows [first_row, first_row + rows) of a
// stored tensor that has `columns` columns. A vector has one column and a
// one-dimensional tensor.
struct WeightSource {
  std::string tensor;                      // empty: the family has none
  std::vector<std::int64_t> stored_shape;  // what the file must say
  int rows = 0;
  int columns = 0;
  int first_row = 0;
  bool transposed = false;  // stored [columns, all rows] (Conv1D)

  bool present() const { return !tensor.empty(); }
};

struct LayerSources {
  WeightSource attention_norm, attention_norm_bias;  // may be absent
  WeightSource query, key, value, output;
  WeightSource query_bias, key_bias, value_bias, output_bias;
  WeightSource query_norm, key_norm;  // over one head, before the rotation
  WeightSource mlp_norm, mlp_norm_bias;
  WeightSource gate;  // absent: not gated
  WeightSource up, down;
  WeightSource gate_bias, up_bias, down_bias;
  int window = 0;  // a token sees itself and window - 1 before it; 0: all
  double attention_scale = 0;  // on the product of query and key
};

// A network whose rows read a vector of hidden_size numbers beside their token
// (ScoreRequest::vectors), as heads on a target's hidden states do.
struct VectorInput {
  enum class Kind {
    kNone,
    // A row starts from the product of `fuse` with embedding and vector, side
    // by side.
    kFused,
    // A row starts from its vector; the attention of the first layer reads
    // embedding and vector side by side.
    kBeside,
  };

  Kind kind = Kind::kNone;
  WeightSource fuse, fuse_bias;  // kFused
  // Before they stand side by side; where there is none they stand as they are.
  WeightSource token_norm, vector_norm;
  bool vector_first = false;
  bool starts_normed = false;      // kBeside: from the vector after its norm
  bool hides_first_token = false;  // its embedding at position 0 is zeros
};

struct Architecture {
  enum class Norm { kRms, kLayer };
  enum class Activation { kSilu, kGeluTanh };

  std::string family;  // a row of families/families.h
  int vocab_size = 0;  // as the weights have it, padding rows included
  int hidden_size = 0;
  int feed_forward_size = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int context_limit = 0;
  Norm norm = Norm::kRms;
  double norm_epsilon = 1e-5;
  double head_norm_epsilon = 1e-5;  // of query_norm and key_norm
  Activation activation = Activation::kSilu;
  std::optional<Rope> rope;          // absent: learnt positions
  std::vector<TokenId> end_of_text;  // generation_config.json's, else config's
  std::optional<TokenId> begin_of_text;

  WeightSource embedding;
  WeightSource positions;                    // absent with rope
  WeightSource final_norm, final_norm_bias;  // may be absent
  // The embedding's own where the two are tied; its rows are the logits. Where
  // it or the embedding is absent it is borrowed from another model.
  WeightSource head;
  bool tied_head = false;
  // Of a tied pair that is stored twice, the one that is not the embedding: it
  // must say the same.
  WeightSource tied_twin;
  std::vector<LayerSources> layers;
  VectorInput input;
  // Weights that the graph does not read, and whoever opened the checkpoint
  // does; and tensors that are no weights.
  std::vector<WeightSource> others;
  std::vector<std::string> tables;
  bool refuses_others = false;  // a tensor beside all of these is an error
  std::string layer_prefix;     // of a tensor's name, before the layer's number

  // What the weights were stored as in the file that the model came in, "GGUF
  // Q4_1, Q8_0"; empty for one that came as a directory.
  std::string source_format;

  // A model made larger without changing what it computes (docs/formats.md):
  // the name of the one it was made from, empty for any other model, and the
  // layers that take time but change nothing, ascending.
  std::string grown_from;
  std::vector<int> inert_layers;
};

// Reading a model's JSON files, key by key.
//
//   BANYAN_ASSIGN_OR_RETURN(ConfigReader in, ConfigReader::Parse(text, name));
//   const int layers = in.Size("num_hidden_layers", 1024);
//   const bool tied = in.Flag("tie_word_embeddings", false);
//   BANYAN_RETURN_IF_ERROR(in.status());
//
// Keys nobody asks for are passed over: a model's files hold many. Null is the
// same as an absent key, but for IsGiven().

// Keeps the first error, "FILE: key: expected a positive integer, found "x"",
// and gives it at the end, so that a family reads straight through. After an
// error every further read gives its fallback. What does not depend on each
// other is read apart, and then all that is wrong is told.
class ConfigReader {
 public:
  // The sizes of a model are at most this: no published one comes near, and the
  // product of any two of them fits 64 bits with room to spare.
  static constexpr int kMaxSize = 1 << 24;

  // An object, read as core/json/json_reader.h says.
  static absl::StatusOr<ConfigReader> Parse(absl::string_view text,
                                            const std::string& file_name);

  // True if the key is there, be it null.
  bool IsGiven(absl::string_view key) const;
  // True if the key is there and not null.
  bool Has(absl::string_view key) const;

  // A whole number from 1 to `max`; the first form requires the key.
  int Size(absl::string_view key, int max = kMaxSize);
  int SizeOr(absl::string_view key, int fallback, int max = kMaxSize);
  // A whole number from 0 to `max`.
  int CountOr(absl::string_view key, int fallback, int max = kMaxSize);
  // A finite number above 0.
  double Positive(absl::string_view key);
  double PositiveOr(absl::string_view key, double fallback);
  bool Flag(absl::string_view key, bool fallback);
  // Required and not empty.
  std::string Text(absl::string_view key);
  std::string TextOr(absl::string_view key, absl::string_view fallback);
  // A list of texts; empty if there is none.
  std::vector<std::string> Texts(absl::string_view key);
  // An object of texts; empty if there is none.
  std::map<std::string, std::string> TextMap(absl::string_view key);
  // A token id or a list of them, each below `vocab_size`; empty if none.
  std::vector<TokenId> Tokens(absl::string_view key, int vocab_size);

  // A list of ascending numbers from 0 to `end` - 1; empty if there is none,
  // and as many zeros if one is none of them.
  std::vector<int> Indices(absl::string_view key, int end);

  // The object under `key`, or one without keys. Its errors are told here too,
  // as "FILE: key.inner: ...".
  ConfigReader Section(absl::string_view key);
  // A reader of the same object that keeps a first error of its own, which is
  // told here too and ends no reading here.
  ConfigReader Apart() const;
  // The keys that stand for true or false.
  std::vector<std::string> Flags() const;
  // True if the value of some key is itself an object.
  bool HasObjects() const;

  // Notes "FILE: key: message".
  void Fail(absl::string_view key, absl::string_view message);
  // The same: "expected WHAT, found what stands there".
  void Unexpected(absl::string_view key, absl::string_view what);

  const std::string& file_name() const;
  // Of several errors each has a line.
  absl::Status status() const { return told_->errors.status(); }

 private:
  struct File {
    JsonTree tree;
    std::string name;
  };
  struct Told {
    std::shared_ptr<Told> above;  // of whom this was read apart
    bool failed = false;
    Errors errors;  // its own, and of what was read apart from it
  };

  ConfigReader(const JsonAt& object, std::shared_ptr<const File> file,
               std::shared_ptr<Told> told)
      : object_(object), file_(std::move(file)), told_(std::move(told)) {}
  // The value under `key`; none if it is absent, null, or after an error.
  std::optional<JsonAt> Find(absl::string_view key) const;
  std::optional<int> Whole(absl::string_view key, int min, int max);
  void Missing(absl::string_view key, absl::string_view what);
  void Note(const absl::Status& status);

  JsonAt object_;  // in the file's tree
  std::shared_ptr<const File> file_;
  std::shared_ptr<Told> told_;  // which sections share
};

}  // namespace banyan

#endif  // BANYAN_CORE_CHECKPOINT_ARCHITECTURE_H_
