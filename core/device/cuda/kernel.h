// What kernels are written against, once for two makers: nvcc compiles them for
// the CUDA runtime, the C++ compiler for the host device.
//
// A kernel is a struct of its arguments, in the namespace BANYAN_MAKER of a
// file NAME_cuda.cu, with a name and one function, which every thread runs:
//
//   struct Scale {
//     static constexpr const char* kName = "scale";
//     Global<float> x;
//     float by;
//     BANYAN_DEVICE void operator()(const Thread& t) const {
//       const std::int64_t i = std::int64_t{t.block()} * t.threads() +
//       t.index(); if (i < x.size()) x.Write(i, x.Read(i) * by);
//     }
//   };
//   Launch(device, {.blocks = 4, .threads = 128}, Scale{...});
//
// Thread: index, lane and warp in the block, threads of the block, block and
// blocks of the launch; Sync (a barrier of the block), SyncWarp; ShuffleXor,
// ShuffleFrom, Ballot; SharedArray(first_byte, count), memory of the block;
// Multiply and MultiplyBytes, products of matrix fragments; CommitCopies,
// WaitCopies and AwaitLaunchBefore, of which below.
//
// Global<T> and Shared<T> are numbers of the device's and of the block's
// memory: Read(i), Write(i, x), ReadPack<n>(i) and WritePack<n>(i, pack), n
// numbers at once, which stand at a multiple of their size; AtomicAdd(i, n) of
// integers. What is written is whole words of four bytes.
//
// Copies ahead: shared.CopyAhead(i, x, j) asks that kAheadBytes bytes of a
// Global come to the block's memory, and goes on. CommitCopies() closes a group
// of such copies of the thread; WaitCopies<n>() waits until at most n of its
// groups are under way, the earliest first. Until then nobody touches where
// they go; after it the thread itself may, and others after a barrier. What
// they read is not written meanwhile. All copies are waited for before the
// kernel ends.
//
// A launch with LaunchShape::early may begin before the launch before it has
// ended: every thread calls AwaitLaunchBefore() once, and before that touches
// nothing that the launch before it wrote, and writes nothing that it reads. A
// kernel that names kAwaits is launched so where the device says it may be.
//
// A kernel may name kMostThreads, the most that it is launched with: the
// compiler then gives each as many registers as a block of those leaves.
//
// The rules, which the host device holds every thread to: nothing is read that
// was not written; what one thread writes and another reads or writes, a
// barrier of both parts, within a launch; blocks of one launch share nothing
// but atomic sums; a barrier is reached by all threads of the block, a warp's
// work by all lanes it names.
#ifndef BANYAN_CORE_DEVICE_CUDA_KERNEL_H_
#define BANYAN_CORE_DEVICE_CUDA_KERNEL_H_

#ifdef __CUDACC__
#include "core/device/cuda/nvidia_kernel-inl.h"
#define BANYAN_MAKER on_nvidia
#else
#include "core/device/cuda/host_kernel.h"
#define BANYAN_MAKER on_host
#endif

#endif  // BANYAN_CORE_DEVICE_CUDA_KERNEL_H_
