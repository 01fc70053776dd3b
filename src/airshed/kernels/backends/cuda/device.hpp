// device.hpp: types that NVRTC does not provide. Functions without qualifiers run on the device (--device-as-default-execution-space).
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned long long uintptr_t;
#define INLINE_MEMBER __forceinline__
#define UNROLLED _Pragma("unroll")
#define SHARED_MEMORY(type, name) extern __shared__ type name[]     // its size is an argument of the launch
#define __builtin_prefetch(...)
