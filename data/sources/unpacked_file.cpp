#include "data/sources/unpacked_file.hpp"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

#include "config/base/error.hpp"

namespace rldp::data {

class unpacker {
  public:
    explicit unpacker(input_file& from) : from_(from), buffer_(1 << 17) {}
    virtual ~unpacker() = default;
    unpacker(const unpacker&) = delete;
    unpacker& operator=(const unpacker&) = delete;

    std::size_t read(char* into, std::size_t room) {
        std::size_t have = 0;
        while (have < room) {
            // What is packed last is never taken before all of it is unpacked: gzip has a checksum there, and Zstandard
            // holds its last byte back.
            if (next_ == end_) {
                next_ = 0;
                end_ = from_.read(buffer_.data(), buffer_.size());
                if (end_ == 0) break;
            }
            have += unpack(into + have, room - have);
        }
        if (have < room && !between_) refuse_damaged("ends early");
        return have;
    }

  protected:
    /// Takes bytes from next_ on, and says how many it made of them.
    virtual std::size_t unpack(char* into, std::size_t room) = 0;
    [[noreturn]] void refuse_damaged(std::string_view how) const {
        refuse(fmt::format("{}: its packed data {}; bring it whole, or unpack it and name the plain file",
                           from_.path().string(), how));
    }

    input_file& from_;
    std::vector<char> buffer_;
    std::size_t next_ = 0, end_ = 0;
    bool between_ = false;  ///< parts, of which a file may have several: it may end here
};

namespace {

class gzip : public unpacker {
  public:
    explicit gzip(input_file& from) : unpacker(from) {
        constexpr int gzip_alone = 15 + 16;
        if (inflateInit2(&stream_, gzip_alone) != Z_OK) throw std::bad_alloc();
    }
    ~gzip() override { inflateEnd(&stream_); }

  private:
    std::size_t unpack(char* into, std::size_t room) override {
        if (between_) inflateReset(&stream_);
        between_ = false;
        stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data() + next_);
        stream_.avail_in = static_cast<uInt>(end_ - next_);
        stream_.next_out = reinterpret_cast<Bytef*>(into);
        const auto offered = static_cast<uInt>(std::min<std::size_t>(room, 1U << 30U));
        stream_.avail_out = offered;
        const int status = inflate(&stream_, Z_NO_FLUSH);
        if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR) refuse_damaged("are damaged");
        between_ = status == Z_STREAM_END;
        next_ = end_ - stream_.avail_in;
        return offered - stream_.avail_out;
    }

    z_stream stream_{};
};

class zstandard : public unpacker {
  public:
    explicit zstandard(input_file& from) : unpacker(from), stream_(ZSTD_createDStream(), ZSTD_freeDStream) {
        if (!stream_) throw std::bad_alloc();
    }

  private:
    std::size_t unpack(char* into, std::size_t room) override {
        ZSTD_inBuffer in{buffer_.data(), end_, next_};
        ZSTD_outBuffer out{into, room, 0};
        const auto left = ZSTD_decompressStream(stream_.get(), &out, &in);
        if (ZSTD_isError(left) != 0) refuse_damaged("are damaged");
        between_ = left == 0;
        next_ = in.pos;
        return out.pos;
    }

    std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream_;
};

struct kind_of_file {
    std::string_view begins, name, remedy;
};
using namespace std::string_view_literals;
constexpr auto plain_table = "export the table as .csv, or texts as .jsonl"sv;
/// How files of other kinds begin.
constexpr std::array other_kinds{
    kind_of_file{"PAR1"sv, "Parquet", plain_table},
    kind_of_file{"ARROW1"sv, "Arrow", plain_table},
    kind_of_file{"Obj\x01"sv, "Avro", plain_table},
    kind_of_file{"PK\x03\x04"sv, "a ZIP archive, as Excel's and LibreOffice's are",
                 "unpack it, or save the sheet as .csv"},
    kind_of_file{"\xd0\xcf\x11\xe0"sv, "an old Excel or Word file", "save the sheet as .csv"},
    kind_of_file{"SQLite format 3"sv, "an SQLite database", plain_table},
    kind_of_file{"%PDF"sv, "PDF", "extract its text into .jsonl"},
    kind_of_file{"\x1f\x8b"sv, "packed with gzip", "end its name in .gz"},
    kind_of_file{"\x28\xb5\x2f\xfd"sv, "packed with Zstandard", "end its name in .zst"},
    kind_of_file{"BZh"sv, "packed with bzip2", "unpack it, or pack it with gzip"},
    kind_of_file{"\xfd\x37\x7a\x58\x5a"sv, "packed with xz", "unpack it, or pack it with gzip"},
    kind_of_file{"\xff\xfe"sv, "UTF-16", "convert the file to UTF-8"},
    kind_of_file{"\xfe\xff"sv, "UTF-16", "convert the file to UTF-8"},
};

void refuse_other_kinds(input_file& file, bool packed) {
    std::array<char, 16> bytes{};
    const std::string_view begin(bytes.data(), file.read(bytes.data(), bytes.size()));
    file.seek(0);
    // A column may be called PAR1.
    const bool text = std::all_of(begin.begin(), begin.end(), [](unsigned char c) {
        return (c >= 0x20 && c < 0x7f) || c == '\t' || c == '\r' || c == '\n';
    });
    if (text) return;
    for (const auto& kind : other_kinds)
        if (begin.starts_with(kind.begins) && !(packed && kind.remedy.starts_with("end its name")))
            refuse(fmt::format("{}: is {}; {}", file.path().string(), kind.name, kind.remedy));
}

std::unique_ptr<unpacker> unpacker_of(input_file& file, packing how) {
    switch (how) {
        case packing::gzip:
            return std::make_unique<gzip>(file);
        case packing::zstd:
            return std::make_unique<zstandard>(file);
        case packing::none:
            break;
    }
    return nullptr;
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
}

}  // namespace

file_name name_of_file(const std::filesystem::path& path) {
    const auto last = lower(path.extension().string());
    const auto inner = lower(path.stem().extension().string());
    if (last == ".gz") return {inner, packing::gzip};
    if (last == ".zst") return {inner, packing::zstd};
    return {last, packing::none};
}

unpacked_file::unpacked_file(const std::filesystem::path& path) : file_(path) {
    const auto packed = name_of_file(path).packed;
    refuse_other_kinds(file_, packed != packing::none);
    unpack_ = unpacker_of(file_, packed);
}

unpacked_file::~unpacked_file() = default;

std::size_t unpacked_file::read(char* into, std::size_t room) {
    return unpack_ ? unpack_->read(into, room) : file_.read(into, room);
}

void unpacked_file::rewind() {
    file_.seek(0);
    if (unpack_) unpack_ = unpacker_of(file_, name_of_file(file_.path()).packed);
}

}  // namespace rldp::data
