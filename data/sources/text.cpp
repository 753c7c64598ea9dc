#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/data_names.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "data/sources/piped_rows.hpp"
#include "data/sources/text.hpp"

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
        if (between_) {
            // Tapes and tools fill up with zeros behind the last part, which gzip itself passes over.
            while (next_ < end_ && buffer_[next_] == '\0') ++next_;
            if (next_ == end_) return 0;
            inflateReset(&stream_);
        }
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
constexpr auto pipe_it = ""sv;  // see through_pipe
/// How files of other kinds begin.
constexpr std::array other_kinds{
    kind_of_file{"PAR1"sv, "Parquet", pipe_it},
    kind_of_file{"ARROW1"sv, "Arrow", pipe_it},
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
    kind_of_file{"\xff\xfe"sv, "UTF-16", "convert the file to UTF-8 (iconv -f UTF-16 -t UTF-8)"},
    kind_of_file{"\xfe\xff"sv, "UTF-16", "convert the file to UTF-8 (iconv -f UTF-16 -t UTF-8)"},
};

/// UTF-16 without a mark at its beginning: every other byte of western text is zero.
std::string_view utf16_without_mark(std::string_view begin) {
    std::array<std::size_t, 2> zeros{};
    for (std::size_t i = 0; i < begin.size(); ++i) zeros[i % 2] += begin[i] == '\0' ? 1 : 0;
    const auto most = begin.size() * 3 / 8;  // three quarters of one half
    if (begin.size() < 4 || (zeros[0] <= most) == (zeros[1] <= most)) return {};
    return zeros[0] > most ? "UTF-16BE" : "UTF-16LE";
}

/// `where` is how what begins so is called in refusals; of a file whose packing is undone on the way, `packed` says so.
void refuse_other_kinds(std::string_view begin, const std::string& where, bool packed) {
    constexpr std::size_t tar_mark = 257;
    if (begin.size() > tar_mark && begin.substr(tar_mark).starts_with("ustar"))
        refuse(where + ": is a tar archive; unpack it, and name the file that is meant");
    if (const auto encoding = utf16_without_mark(begin); !encoding.empty())
        refuse(fmt::format("{}: is UTF-16; convert the file to UTF-8 (iconv -f {} -t UTF-8)", where, encoding));
    // A column may be called PAR1.
    const auto first = begin.substr(0, 16);
    const bool text = std::all_of(first.begin(), first.end(), [](unsigned char c) {
        return (c >= 0x20 && c < 0x7f) || c == '\t' || c == '\r' || c == '\n';
    });
    for (const auto& kind : other_kinds)
        if ((!text || kind.begins.starts_with('%')) && begin.starts_with(kind.begins) &&
            !(packed && kind.remedy.starts_with("end its name")))
            refuse(fmt::format("{}: is {}; {}", where, kind.name,
                               kind.remedy == pipe_it ? through_pipe(where) : std::string(kind.remedy)));
}

std::unique_ptr<unpacker> make_unpacker(input_file& file, packing how) {
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

}  // namespace

std::string through_pipe(const std::string& path) {
    return fmt::format("python3 -m rldp rows {} | rldp init - --model DIRECTORY --out {}.json (docs/data.md)", path,
                       std::filesystem::path(path).stem().string());
}

file_name name_of_file(const std::filesystem::path& path) {
    const auto last = lower_case(path.extension().string());
    const auto inner = lower_case(path.stem().extension().string());
    if (last == ".gz") return {inner, packing::gzip};
    if (last == ".zst") return {inner, packing::zstd};
    return {last, packing::none};
}

unpacked_file::unpacked_file(const std::filesystem::path& path) {
    if (is_piped(path.string())) {
        piped_ = left_ = standard_rows().lines;
        return;
    }
    file_.emplace(path);
    std::array<char, 512> bytes{};
    const auto begin = [&](std::size_t size) { return std::string_view(bytes.data(), size); };
    const auto packed = name_of_file(path).packed;
    refuse_other_kinds(begin(file_->read(bytes.data(), bytes.size())), path.string(), packed != packing::none);
    file_->seek(0);
    unpack_ = make_unpacker(*file_, packed);
    if (!unpack_) return;
    refuse_other_kinds(begin(unpack_->read(bytes.data(), bytes.size())), path.string() + ", unpacked", false);
    rewind();
}

unpacked_file::~unpacked_file() = default;

std::size_t unpacked_file::read(char* into, std::size_t room) {
    if (file_) return unpack_ ? unpack_->read(into, room) : file_->read(into, room);
    const auto size = left_.copy(into, room);
    left_.remove_prefix(size);
    return size;
}

void unpacked_file::rewind() {
    left_ = piped_;
    if (!file_) return;
    file_->seek(0);
    if (unpack_) unpack_ = make_unpacker(*file_, name_of_file(file_->path()).packed);
}

piece_reader::piece_reader(const std::string& path, bool quotes, std::size_t size)
    : name_(is_piped(path) ? std::string(piped_name) : path), file_(path), quotes_(quotes), size_(size) {}

void piece_reader::rewind() {
    file_.rewind();
    rest_.clear();
    scanned_ = cut_ = 0;
    inside_ = begun_ = ended_ = false;
    line_ = 1;
}

/// Reads on; false at the file's end.
bool piece_reader::fill() {
    const auto before = rest_.size();
    rest_.resize(before + size_);
    const auto got = file_.read(rest_.data() + before, size_);
    rest_.resize(before + got);
    return got == size_;
}

void piece_reader::scan() {
    for (; scanned_ < rest_.size(); ++scanned_) {
        if (quotes_ && rest_[scanned_] == '"') inside_ = !inside_;  // a doubled quote closes and opens
        if (rest_[scanned_] == '\n' && !inside_) cut_ = scanned_ + 1;
    }
}

std::optional<piece> piece_reader::next() {
    if (ended_) return std::nullopt;
    while (cut_ == 0 && !ended_) {
        ended_ = !fill();
        scan();
    }
    const auto length = ended_ ? rest_.size() : cut_;
    piece out{rest_.substr(0, length), line_};
    rest_.erase(0, length);
    scanned_ -= length;
    cut_ = 0;
    line_ += static_cast<std::size_t>(std::count(out.text.begin(), out.text.end(), '\n'));
    if (begun_ && out.text.empty()) return std::nullopt;
    out.text = begun_ ? checked_utf8(std::move(out.text), name_, out.line) : checked_text(std::move(out.text), name_);
    begun_ = true;
    return out;
}

namespace {

/// Position of the first byte that is not part of UTF-8 text, npos if all is well.
std::size_t first_invalid(std::string_view s) {
    for (std::size_t at = 0; at < s.size();) {
        const auto length = utf8_length(s.substr(at));
        if (length == 0) return at;
        at += length;
    }
    return std::string_view::npos;
}

}  // namespace

void refuse_at(const std::string& file, std::size_t line, const std::string& what) {
    refuse(fmt::format("{}:{}: {}", file, line, what));
}

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t") == std::string_view::npos;
}

std::string checked_text(std::string bytes, const std::string& file) {
    if (bytes.starts_with("\xEF\xBB\xBF")) bytes.erase(0, 3);
    if (bytes.empty()) refuse(file + ": the file is empty");
    return checked_utf8(std::move(bytes), file, 1);
}

std::string checked_utf8(std::string bytes, const std::string& file, std::size_t first) {
    const auto bad = std::min(first_invalid(bytes), bytes.find('\0'));
    if (bad == std::string::npos) return bytes;
    const auto lines = std::count(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(bad), '\n');
    refuse_at(file, first + static_cast<std::size_t>(lines),
              bytes[bad] == '\0'
                  ? "a zero byte, which UTF-8 has none of; where the file is UTF-16, convert it (iconv -f UTF-16 -t "
                    "UTF-8), else export it anew"
                  : "invalid UTF-8; convert the file to UTF-8 (iconv -f WINDOWS-1252 -t UTF-8, where it is Latin-1)");
}

std::vector<text_line> split_lines(std::string_view text, std::size_t first) {
    std::vector<text_line> out;
    for (auto number = first; !text.empty(); ++number) {
        auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        if (!is_blank(line)) out.push_back({line, number});
    }
    return out;
}

std::vector<record> read_lines(const std::string& path) {
    const auto text = checked_text(read_file(path), path);
    std::vector<record> out;
    for (const auto& line : split_lines(text)) out.push_back({std::string(line.text), {}, {}});
    return out;
}

}  // namespace rldp::data
