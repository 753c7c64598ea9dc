# For a wheel (pip install .): the PyTorch of the Python that it is for, its libraries as they lie there. No toolkit of CUDA's is
# needed, for nothing here is compiled for a card. Sets TORCH_INSTALL_PREFIX, TORCH_INCLUDE_DIRS, TORCH_LIBRARIES and Torch_VERSION.

find_package(Python REQUIRED COMPONENTS Interpreter)
# -I: pip builds in an environment of its own, in front of that Python's.
execute_process(COMMAND ${Python_EXECUTABLE} -I -c "import importlib.metadata as of, importlib.util as find
print(of.version('torch'), find.find_spec('torch').submodule_search_locations[0], sep=';')"
  OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE missing)
if(missing)
  message(FATAL_ERROR "This Python (${Python_EXECUTABLE}) has no PyTorch, which rldp is built against. Either: pip install torch, and again. "
    "Or take an rldp that is installed: RLDP_PROGRAM=/path/to/rldp pip install .")
endif()
list(GET found 0 RLDP_PYTORCH)
list(GET found 1 TORCH_INSTALL_PREFIX)
string(REGEX MATCH "^[0-9]+\\.[0-9]+(\\.[0-9]+)?" Torch_VERSION "${RLDP_PYTORCH}")
if(Torch_VERSION VERSION_LESS 2.6)
  message(FATAL_ERROR "PyTorch ${RLDP_PYTORCH} has another C++ ABI than this machine's libraries; take 2.6 or later")
endif()
message(STATUS "PyTorch ${RLDP_PYTORCH} in ${TORCH_INSTALL_PREFIX}")
set(TORCH_INCLUDE_DIRS ${TORCH_INSTALL_PREFIX}/include ${TORCH_INSTALL_PREFIX}/include/torch/csrc/api/include)
set(TORCH_LIBRARIES ${TORCH_INSTALL_PREFIX}/lib/libtorch.so ${TORCH_INSTALL_PREFIX}/lib/libtorch_cpu.so ${TORCH_INSTALL_PREFIX}/lib/libc10.so)
# Those of a card have libraries of their own, which lie elsewhere and are found where the program starts.
add_link_options("LINKER:--allow-shlib-undefined")
# In the wheel, lib/rldp/rldp-torch lies in site-packages/rldp/program.
set(CMAKE_INSTALL_RPATH "$ORIGIN/../../../../torch/lib;${TORCH_INSTALL_PREFIX}/lib")
file(WRITE ${CMAKE_BINARY_DIR}/built.json "{\"torch\": \"${RLDP_PYTORCH}\"}\n")
install(FILES ${CMAKE_BINARY_DIR}/built.json DESTINATION . COMPONENT program)
