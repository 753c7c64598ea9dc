# cmake -DIN=file -DOUT=file.cpp -DNAME=name -P embed.cmake: the bytes of a file as rldp::embedded::name.
file(READ ${IN} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "#include <string_view>
namespace rldp::embedded {
namespace {
alignas(64) constexpr unsigned char bytes_of_${NAME}[] = {
${bytes}
};
}
extern const std::string_view ${NAME};
const std::string_view ${NAME}(reinterpret_cast<const char*>(bytes_of_${NAME}), sizeof bytes_of_${NAME});
}
")
