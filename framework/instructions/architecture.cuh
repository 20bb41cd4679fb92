// PTX that not every GPU has, in kernels that are compiled for all of them. Internal: includes CUDA.
#pragma once

/// LENSLET_FROM_SM(80, statement): the statement in code for compute capability 8.0 and later. In code for earlier ones
/// a trap, so that templates compile for every architecture: their kernels are launched from 8.0 on only.
#define LENSLET_FROM_SM(capability, statement) LENSLET_FROM_SM_##capability(statement, __trap())
/// The same with a statement for earlier ones.
#define LENSLET_FROM_SM_OR(capability, statement, earlier) LENSLET_FROM_SM_##capability(statement, earlier)

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
#define LENSLET_FROM_SM_80(statement, earlier) statement
#else
#define LENSLET_FROM_SM_80(statement, earlier) earlier
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
#define LENSLET_FROM_SM_90(statement, earlier) statement
#else
#define LENSLET_FROM_SM_90(statement, earlier) earlier
#endif
