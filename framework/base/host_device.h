// LENSLET_HOST_DEVICE marks a function that host and GPU code call. Internal.
#pragma once

#ifdef __CUDACC__
#define LENSLET_HOST_DEVICE __host__ __device__
#else
#define LENSLET_HOST_DEVICE
#endif
