#include "data/sources/table_file.hpp"

#include <zlib.h>
#include <zstd.h>

#include <array>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <variant>

#include "base/error.hpp"
#include "base/files.hpp"
#include "data/sources/text.hpp"

namespace rldp::data {

namespace {

/// Packs what it is given and passes it on.
class packer {
  public:
    explicit packer(part_writer to) : to_(std::move(to)) {}
    virtual ~packer() = default;
    packer(const packer&) = delete;
    packer& operator=(const packer&) = delete;
    virtual void add(std::string_view bytes) { to_(bytes); }
    virtual void finish() {}

  protected:
    part_writer to_;
    std::array<char, 1 << 16> buffer_{};
};

class gzip_packer final : public packer {
  public:
    explicit gzip_packer(part_writer to) : packer(std::move(to)) {
        constexpr int gzip_alone = 15 + 16, memory = 8;
        if (deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_alone, memory, Z_DEFAULT_STRATEGY) != Z_OK)
            throw std::bad_alloc();
    }
    ~gzip_packer() override { deflateEnd(&stream_); }
    void add(std::string_view bytes) override { pack(bytes, Z_NO_FLUSH); }
    void finish() override { pack({}, Z_FINISH); }

  private:
    void pack(std::string_view bytes, int how) {
        std::string in(bytes);
        stream_.next_in = reinterpret_cast<Bytef*>(in.data());
        stream_.avail_in = static_cast<uInt>(in.size());
        do {
            stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
            stream_.avail_out = static_cast<uInt>(buffer_.size());
            deflate(&stream_, how);
            to_({buffer_.data(), buffer_.size() - stream_.avail_out});
        } while (stream_.avail_out == 0);
    }
    z_stream stream_{};
};

class zstandard_packer final : public packer {
  public:
    explicit zstandard_packer(part_writer to) : packer(std::move(to)), stream_(ZSTD_createCCtx(), ZSTD_freeCCtx) {
        if (!stream_) throw std::bad_alloc();
        ZSTD_CCtx_setParameter(stream_.get(), ZSTD_c_checksumFlag, 1);
    }
    void add(std::string_view bytes) override { pack(bytes, ZSTD_e_continue); }
    void finish() override { pack({}, ZSTD_e_end); }

  private:
    void pack(std::string_view bytes, ZSTD_EndDirective how) {
        ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
        for (bool more = true; more;) {
            ZSTD_outBuffer out{buffer_.data(), buffer_.size(), 0};
            const auto left = ZSTD_compressStream2(stream_.get(), &out, &in, how);
            require(ZSTD_isError(left) == 0, "Zstandard packs what it is given");
            to_({buffer_.data(), out.pos});
            more = how == ZSTD_e_end ? left != 0 : in.pos < in.size;
        }
    }
    std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> stream_;
};

std::unique_ptr<packer> make_packer(packing how, part_writer to) {
    if (how == packing::gzip) return std::make_unique<gzip_packer>(std::move(to));
    if (how == packing::zstd) return std::make_unique<zstandard_packer>(std::move(to));
    return std::make_unique<packer>(std::move(to));
}

std::string quoted(const std::string& cell) {
    if (cell.find_first_of(",;\t\"\r\n") == std::string::npos) return cell;
    std::string out = "\"";
    for (const char c : cell) {
        if (c == '"') out += c;
        out += c;
    }
    return out + '"';
}

std::string csv_line(const std::vector<std::string>& cells, char delimiter) {
    std::string out;
    for (const auto& cell : cells) {
        if (&cell != cells.data()) out += delimiter;
        out += quoted(cell);
    }
    return (out.empty() ? "\"\"" : out) + "\n";  // a blank line would be no row
}

std::string json_line(const row_template& how, const std::vector<std::string>& cells) {
    std::string out = "{";
    for (std::size_t c = 0; c < cells.size(); ++c) {
        const auto& column = (*how.schema)[c];
        const auto* number = std::get_if<number_type>(&column.type);
        const auto rule = how.columns.find(column.name);
        const bool comma = rule != how.columns.end() && rule->second.decimal_comma;
        const auto pointed = comma ? with_decimal_point(cells[c]).value_or(cells[c]) : cells[c];
        const auto units = number != nullptr ? number->range.read(pointed) : std::nullopt;
        const bool listed = std::holds_alternative<category_type>(column.type) && conforms(cells[c], column.type);
        const bool none = how.missing.contains(cells[c]) && !listed;
        out += (c > 0 ? ", " : "") + nlohmann::json(column.name).dump() + ": ";
        out += units ? number->range.spell(*units) : none ? std::string("null") : nlohmann::json(cells[c]).dump();
    }
    return out + "}\n";
}

}  // namespace

void check_table_name(const std::filesystem::path& path) {
    const auto kind = name_of_file(path).extension;
    if (kind != ".csv" && kind != ".tsv" && kind != ".jsonl" && kind != ".ndjson")
        refuse(path.string() + ": name it .csv, .tsv or .jsonl (.gz or .zst behind that to pack it)");
}

void write_table(const std::filesystem::path& path, const row_template& how, const row_source& rows) {
    check_table_name(path);
    const auto name = name_of_file(path);
    const bool json = name.extension == ".jsonl" || name.extension == ".ndjson";
    const char delimiter = name.extension == ".tsv" ? '\t' : ',';
    write_in_parts(path, [&](const part_writer& write) {
        const auto pack = make_packer(name.packed, write);
        if (!json) {
            std::vector<std::string> names;
            for (const auto& column : *how.schema) names.push_back(column.name);
            pack->add(csv_line(names, delimiter));
        }
        rows([&](const std::vector<std::string>& cells) {
            pack->add(json ? json_line(how, cells) : csv_line(cells, delimiter));
        });
        pack->finish();
    });
}

void write_lines(const std::filesystem::path& path, const line_source& lines) {
    write_in_parts(path, [&](const part_writer& write) {
        const auto pack = make_packer(name_of_file(path).packed, write);
        lines([&](std::string_view line) {
            pack->add(line);
            pack->add("\n");
        });
        pack->finish();
    });
}

}  // namespace rldp::data
