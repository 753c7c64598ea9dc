# LibTorch as the target rldp_torch: the distribution's, an unpacked one, or PyTorch's (scripts/build.sh --cuda, pip install .).

# Nothing here is compiled for a card; unless told which, LibTorch's CMake files would run a probe for this machine's.
if(NOT DEFINED ENV{TORCH_CUDA_ARCH_LIST})
  set(ENV{TORCH_CUDA_ARCH_LIST} 9.0)
endif()
if(SKBUILD)
  include(PythonTorch)
else()
  find_package(Torch REQUIRED)
endif()

# PyTorch's libtorch exports an old copy of a part of libstdc++, among it a std::filesystem::remove_all that calls a null pointer.
# A symbol is the first library's that has it, in the order in which a program needs them (tests/app/libraries.py).
add_link_options("LINKER:--push-state,--no-as-needed" -lstdc++ "LINKER:--pop-state")

# PyTorch also brings headers of a newer fmt than the distribution's, which spdlog is made for and programs are linked with.
get_target_property(directory fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
if(NOT directory)
  set(directory /usr/include)
endif()
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/before_torch)
file(CREATE_LINK ${directory}/fmt ${CMAKE_BINARY_DIR}/before_torch/fmt SYMBOLIC)
list(PREPEND TORCH_INCLUDE_DIRS ${CMAKE_BINARY_DIR}/before_torch)

# System headers, so that our warnings stay ours.
add_library(rldp_torch INTERFACE)
target_include_directories(rldp_torch SYSTEM INTERFACE ${TORCH_INCLUDE_DIRS})
target_link_libraries(rldp_torch INTERFACE ${TORCH_LIBRARIES})
