#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <memory>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/common.h"
#include "core/device/cuda/matrix_product.h"
#include "core/device/cuda/nvidia_products.h"
#include "core/device/cuda/span.h"

namespace banyan {
namespace {

// What is called of it.
struct Library {
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasDestroy_v2) destroy = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
  // cublasGemmEx, which C++ has overloads of.
  cublasStatus_t (*multiply)(cublasHandle_t, cublasOperation_t,
                             cublasOperation_t, int, int, int, const void*,
                             const void*, cudaDataType, int, const void*,
                             cudaDataType, int, const void*, void*,
                             cudaDataType, int, cublasComputeType_t,
                             cublasGemmAlgo_t) = nullptr;
  decltype(&cublasGetStatusString) text = nullptr;
};

absl::StatusOr<Library> OpenLibrary() {
  const std::string name = absl::StrCat("libcublas.so.", CUBLAS_VER_MAJOR);
  void* const file = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto missing = [&] {
    const char* const why = dlerror();
    return absl::FailedPreconditionError(
        absl::StrCat("cuda: fast needs cuBLAS: ", why == nullptr ? name : why,
                     "; LD_LIBRARY_PATH may name its folder"));
  };
  if (file == nullptr) return missing();
  Library library;
  const auto find = [file](const char* symbol, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        dlsym(file, symbol));
    return function != nullptr;
  };
  if (!find("cublasCreate_v2", library.create) ||
      !find("cublasDestroy_v2", library.destroy) ||
      !find("cublasSetStream_v2", library.set_stream) ||
      !find("cublasSetWorkspace_v2", library.set_workspace) ||
      !find("cublasGemmEx", library.multiply) ||
      !find("cublasGetStatusString", library.text))
    return missing();
  return library;
}

class Cublas final : public NvidiaProducts {
 public:
  explicit Cublas(const Library& library) : library_(library) {}
  ~Cublas() override {
    if (handle_ != nullptr) library_.destroy(handle_);
  }

  absl::Status Begin(cudaStream_t stream, DeviceSpan workspace) {
    BANYAN_RETURN_IF_ERROR(Error(library_.create(&handle_)));
    BANYAN_RETURN_IF_ERROR(Error(library_.set_stream(handle_, stream)));
    return Error(
        library_.set_workspace(handle_, workspace.data, workspace.bytes));
  }

  // The library's matrices stand by columns, so that ours are their transposes:
  // it makes y' = weight x', where the weight is transposed back.
  absl::Status Multiply(const MatrixProduct& of) override {
    const float one = 1;
    const float before = of.add ? 1 : 0;
    return Error(library_.multiply(
        handle_, CUBLAS_OP_T, CUBLAS_OP_N, of.outputs, of.rows, of.columns,
        &one, of.weight.data, CUDA_R_16BF, static_cast<int>(of.weight_stride),
        of.x.data, CUDA_R_16BF, static_cast<int>(of.x_stride), &before,
        of.y.data, CUDA_R_32F, static_cast<int>(of.y_stride),
        CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  }

 private:
  absl::Status Error(cublasStatus_t status) const {
    if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("cuBLAS: ", library_.text(status)));
  }

  const Library library_;
  cublasHandle_t handle_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<NvidiaProducts>> NvidiaProducts::Open(
    cudaStream_t stream, DeviceSpan workspace) {
  BANYAN_ASSIGN_OR_RETURN(const Library library, OpenLibrary());
  auto products = std::make_unique<Cublas>(library);
  BANYAN_RETURN_IF_ERROR(products->Begin(stream, workspace));
  return products;
}

}  // namespace banyan
