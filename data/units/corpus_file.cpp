#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/mman.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

#include "base/descriptor.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "data/units/corpus_file.hpp"

namespace rldp::data::detail {

namespace {

using nlohmann::json;

json held_out_to_json(const held_out_record& from) {
    std::vector<std::uint8_t> tokens(from.tokens.size() * sizeof(std::int32_t));
    if (!tokens.empty()) std::memcpy(tokens.data(), from.tokens.data(), tokens.size());
    json clauses = json::array();
    for (const auto& one : from.rendered.clauses) {
        json places = {one.column, one.whole.begin, one.whole.end};
        for (const auto& value : one.values) places.insert(places.end(), {value.begin, value.end});
        clauses.push_back(std::move(places));
    }
    return {json::binary(std::move(tokens)),
            from.rendered.text,
            from.rendered.key,
            from.rendered.group,
            std::move(clauses),
            from.cut,
            from.unit};
}

held_out_record held_out_from_json(const json& from) {
    const auto& bytes = from.at(0).get_binary();
    held_out_record out;
    out.tokens.resize(bytes.size() / sizeof(std::int32_t));
    if (!bytes.empty()) std::memcpy(out.tokens.data(), bytes.data(), bytes.size());
    from.at(1).get_to(out.rendered.text);
    from.at(2).get_to(out.rendered.key);
    from.at(3).get_to(out.rendered.group);
    for (const auto& places : from.at(4)) {
        clause one{.column = places.at(0), .whole = {places.at(1), places.at(2)}, .values = {}};
        for (std::size_t i = 3; i < places.size(); i += 2) one.values.push_back({places.at(i), places.at(i + 1)});
        out.rendered.clauses.push_back(std::move(one));
    }
    from.at(5).get_to(out.cut);
    from.at(6).get_to(out.unit);
    return out;
}

json as_json(const unit_sketches& from) {
    json out = json::object();
    for (const auto& [name, one] : from) out[name] = {one.level, one.hashes};
    return out;
}

unit_sketches sketches_from(const json& from) {
    unit_sketches out;
    for (const auto& [name, one] : from.items())
        out.emplace(name, unit_sketch{.level = one.at(0), .hashes = one.at(1)});
    return out;
}

}  // namespace

std::vector<std::uint8_t> encode_head(const token_corpus& corpus) {
    json held_out = json::array();
    for (const auto& one : corpus.held_out.records) held_out.push_back(held_out_to_json(one));
    return json::to_cbor({{"held_out", std::move(held_out)},
                          {"expected_units", corpus.held_out.expected_units},
                          {"columns", corpus.held_out.columns},
                          {"values", corpus.held_out.values},
                          {"records", corpus.records},
                          {"cut", corpus.cut},
                          {"planted", corpus.planted},
                          {"warnings", corpus.warnings},
                          {"digest", corpus.digest},
                          {"split", corpus.split},
                          {"sketches", as_json(corpus.sketches)},
                          {"train_ids", corpus.train_ids}});
}

token_corpus corpus_from(std::span<const std::uint8_t> head) {
    const auto from = json::from_cbor(head.begin(), head.end());
    token_corpus out;
    for (const auto& one : from.at("held_out")) out.held_out.records.push_back(held_out_from_json(one));
    from.at("expected_units").get_to(out.held_out.expected_units);
    from.at("columns").get_to(out.held_out.columns);
    from.at("values").get_to(out.held_out.values);
    from.at("records").get_to(out.records);
    from.at("cut").get_to(out.cut);
    from.at("planted").get_to(out.planted);
    from.at("warnings").get_to(out.warnings);
    from.at("digest").get_to(out.digest);
    from.at("split").get_to(out.split);
    out.sketches = sketches_from(from.at("sketches"));
    from.at("train_ids").get_to(out.train_ids);
    return out;
}

}  // namespace rldp::data::detail

namespace rldp::data {

namespace {

using detail::corpus_shape, detail::corpus_span;
using tag_bytes = std::array<unsigned char, 16>;

constexpr std::array<char, 8> magic{'R', 'L', 'D', 'P', 'c', 'o', 'r', '2'};
constexpr std::uint64_t records_begin = 4096;
constexpr std::uint64_t index_step = 65536;              // what every system can map from: a multiple of its page size
constexpr std::uint64_t head_nonce = ~std::uint64_t{0};  // no record has this number

struct corpus_header {
    std::array<char, 8> magic;
    std::array<unsigned char, 32> salt;
    corpus_shape shape;
    tag_bytes tag;  // of all before it, and of the index
};
static_assert(sizeof(corpus_header) == 104 && sizeof(corpus_span) == 12);

constexpr std::size_t sealed_size(std::uint32_t tokens) {
    return tokens * sizeof(std::int32_t) + crypto_secretbox_MACBYTES;
}

/// A file's own key: each file may then number its records from 0, and under another's name it does not open.
corpus_key file_key(const corpus_key& shelf, const std::array<unsigned char, 32>& salt,
                    const std::filesystem::path& path) {
    const auto name = path.stem().string();
    crypto_generichash_state state;
    crypto_generichash_init(&state, shelf.data(), shelf.size(), sizeof(corpus_key));
    crypto_generichash_update(&state, salt.data(), salt.size());
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(name.data()), name.size());
    corpus_key out;
    crypto_generichash_final(&state, out.data(), out.size());
    return out;
}

std::array<unsigned char, crypto_secretbox_NONCEBYTES> make_nonce(std::uint64_t number) {
    std::array<unsigned char, crypto_secretbox_NONCEBYTES> out{};
    std::memcpy(out.data(), &number, sizeof number);
    return out;
}

tag_bytes compute_tag(const corpus_header& header, std::initializer_list<std::span<const char>> index,
                      const corpus_key& key) {
    crypto_generichash_state state;
    crypto_generichash_init(&state, key.data(), key.size(), sizeof(tag_bytes));
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(&header), offsetof(corpus_header, tag));
    for (const auto part : index)
        crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(part.data()), part.size());
    tag_bytes out;
    crypto_generichash_final(&state, out.data(), out.size());
    return out;
}

template <class T>
std::span<const char> bytes_of_all(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::uint64_t index_bytes(const corpus_shape& of) {
    return of.blocks * sizeof(std::uint64_t) + of.records * sizeof(corpus_span) +
           (of.units + 1) * sizeof(std::uint32_t);
}

/// Whether parts lie where a writer puts them, in a file of `size` bytes. Numbers are far from 2⁶⁴ wherever the tag
/// holds; before it is checked, nothing is read by them but what lies in the file.
bool makes_sense(const corpus_shape& of, std::uint64_t size) {
    const auto most = size / sizeof(std::uint32_t);
    return of.end == size && of.blocks <= most && of.records <= most && of.units <= most && of.index <= size &&
           of.index % index_step == 0 && index_bytes(of) <= size - of.index && of.head == of.index + index_bytes(of) &&
           of.end - of.head >= crypto_secretbox_MACBYTES;
}

}  // namespace

struct corpus_file::state {
    input_file file;
    corpus_key key{};
    corpus_shape shape;
    void* index = nullptr;
    const std::uint64_t* blocks = nullptr;
    const corpus_span* records = nullptr;
    const std::uint32_t* first = nullptr;

    explicit state(const std::filesystem::path& path) : file(path) {}
    ~state() {
        if (index) ::munmap(index, index_bytes(shape));
    }
    state(const state&) = delete;
    state& operator=(const state&) = delete;

    /// False where the file is not a whole one under `shelf`.
    bool map(const corpus_key& shelf) {
        corpus_header header;
        if (file.read(reinterpret_cast<char*>(&header), sizeof header) != sizeof header) return false;
        if (header.magic != magic || !makes_sense(header.shape, file.size())) return false;
        key = file_key(shelf, header.salt, file.path());
        shape = header.shape;
        void* at = ::mmap(nullptr, index_bytes(shape), PROT_READ, MAP_SHARED, file.descriptor(),
                          static_cast<off_t>(shape.index));
        if (at == MAP_FAILED) storage_fault(file.path(), "can't be mapped", errno);
        index = at;
        const auto* bytes = static_cast<const char*>(at);
        const auto tag = compute_tag(header, {{bytes, index_bytes(shape)}}, key);
        if (sodium_memcmp(tag.data(), header.tag.data(), tag.size()) != 0) return false;
        blocks = reinterpret_cast<const std::uint64_t*>(bytes);
        records = reinterpret_cast<const corpus_span*>(bytes + shape.blocks * sizeof(std::uint64_t));
        first = reinterpret_cast<const std::uint32_t*>(records + shape.records);
        return true;
    }

    /// Of a record. The index was whole when it was opened; what is read from the disk again may not be.
    std::size_t length(std::uint32_t record) const {
        if (record >= shape.records || records[record].length > shape.end) damaged();
        return records[record].length;
    }

    /// Whoever opens it next makes it again.
    [[noreturn]] void damaged() const {
        std::error_code ignored;
        std::filesystem::remove(file.path(), ignored);
        throw error(errc::failed, file.path().string() +
                                      ": was damaged where a drawn record lies, and is removed; resume the run, which "
                                      "makes it again");
    }

    /// `size` bytes from `at` on, opened in place of `into`; false where they are damaged or missing.
    bool open_at(std::uint64_t at, std::size_t size, std::uint64_t number, unsigned char* into) const {
        std::vector<unsigned char> sealed(size);
        for (std::size_t have = 0; have < size;) {
            const auto n = ::pread(file.descriptor(), sealed.data() + have, size - have, static_cast<off_t>(at + have));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) storage_fault(file.path(), "can't be read", errno);
            if (n == 0) return false;
            have += static_cast<std::size_t>(n);
        }
        return crypto_secretbox_open_easy(into, sealed.data(), size, make_nonce(number).data(), key.data()) == 0;
    }
};

corpus_file::corpus_file(std::unique_ptr<state> inside) : state_(std::move(inside)) {}
corpus_file::~corpus_file() = default;

std::optional<token_corpus> corpus_file::open(const std::filesystem::path& path, const corpus_key& key) {
    if (!std::filesystem::exists(path)) return {};
    auto inside = std::make_unique<state>(path);
    if (!inside->map(key)) return {};
    const auto size = inside->shape.end - inside->shape.head;
    std::vector<std::uint8_t> head(size - crypto_secretbox_MACBYTES);
    if (!inside->open_at(inside->shape.head, size, head_nonce, head.data())) return {};
    token_corpus out;
    try {
        out = detail::corpus_from(head);
    } catch (const nlohmann::json::exception&) {  // another build's
        return {};
    }
    out.train = token_store(std::shared_ptr<const corpus_file>(new corpus_file(std::move(inside))));
    return out;
}

std::size_t corpus_file::size() const {
    return state_->shape.units;
}

unit_view corpus_file::operator[](std::size_t unit) const {
    const auto begin = state_->first[unit], end = state_->first[unit + 1];
    std::size_t all = 0;
    for (auto r = begin; r < end; ++r) all += state_->length(r);
    auto tokens = std::make_shared<std::vector<std::int32_t>>(all);
    unit_view out;
    auto* into = tokens->data();
    for (auto r = begin; r < end; ++r) {
        const auto& where = state_->records[r];
        if (where.length == 0) continue;
        if (where.block >= state_->shape.blocks ||
            !state_->open_at(state_->blocks[where.block] + where.begin, sealed_size(where.length), r,
                             reinterpret_cast<unsigned char*>(into)))
            state_->damaged();
        out.records.emplace_back(into, where.length);
        into += where.length;
    }
    out.opened = std::move(tokens);
    return out;
}

corpus_writer::corpus_writer(std::filesystem::path path, const corpus_key& key) : path_(std::move(path)) {
    remove_file(path_);  // a killed process's
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor_ < 0) storage_fault(path_, "can't be created", errno);
    randombytes_buf(salt_.data(), salt_.size());
    key_ = file_key(key, salt_, path_);
    end_ = records_begin;
    if (::lseek(descriptor_, static_cast<off_t>(end_), SEEK_SET) < 0) storage_fault(path_, "can't be written", errno);
}

corpus_writer::~corpus_writer() {
    ::close(descriptor_);
    if (!finished_) ::unlink(path_.c_str());
}

void corpus_writer::write(std::span<const char> bytes) {
    if (!write_all(descriptor_, {bytes.data(), bytes.size()})) storage_fault(path_, "can't be written", errno);
    end_ += bytes.size();
}

void corpus_writer::begin(std::vector<std::uint32_t> first, int threads) {
    records_.resize(first.back());
    first_ = std::move(first);
    open_.resize(static_cast<std::size_t>(threads));
    growing_.resize(open_.size());
    settle();
}

void corpus_writer::take(std::size_t worker, std::uint32_t record, const std::vector<std::int32_t>& tokens) {
    if (tokens.empty()) return;
    auto& home = growing_[worker];
    const auto begin = home.size(), length = sealed_size(static_cast<std::uint32_t>(tokens.size()));
    require(begin + length <= std::numeric_limits<std::uint32_t>::max(), "a block of records is too long");
    records_[record] = {open_[worker], static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(tokens.size())};
    home.resize(begin + length);
    crypto_secretbox_easy(reinterpret_cast<unsigned char*>(home.data() + begin),
                          reinterpret_cast<const unsigned char*>(tokens.data()), tokens.size() * sizeof(std::int32_t),
                          make_nonce(record).data(), key_.data());
}

void corpus_writer::settle() {
    for (std::size_t worker = 0; worker < growing_.size(); ++worker) {
        auto& home = growing_[worker];
        if (!home.empty()) blocks_[open_[worker]] = end_;
        if (!home.empty() || blocks_.size() < growing_.size()) {
            open_[worker] = static_cast<std::uint32_t>(blocks_.size());
            blocks_.push_back(0);
        }
        write(home);
        home.clear();
    }
}

void corpus_writer::finish(const token_corpus& rest) {
    settle();
    corpus_header header{.magic = magic,
                         .salt = salt_,
                         .shape = {.index = (end_ + index_step - 1) / index_step * index_step,
                                   .blocks = blocks_.size(),
                                   .records = records_.size(),
                                   .units = first_.size() - 1},
                         .tag = {}};
    auto& shape = header.shape;
    end_ = shape.index;
    if (::lseek(descriptor_, static_cast<off_t>(end_), SEEK_SET) < 0) storage_fault(path_, "can't be written", errno);
    const auto index = {bytes_of_all(blocks_), bytes_of_all(records_), bytes_of_all(first_)};
    for (const auto part : index) write(part);
    shape.head = end_;
    const auto head = detail::encode_head(rest);
    std::vector<char> sealed(head.size() + crypto_secretbox_MACBYTES);
    crypto_secretbox_easy(reinterpret_cast<unsigned char*>(sealed.data()), head.data(), head.size(),
                          make_nonce(head_nonce).data(), key_.data());
    write(sealed);
    shape.end = end_;
    header.tag = compute_tag(header, index, key_);
    if (::lseek(descriptor_, 0, SEEK_SET) < 0 ||
        !write_all(descriptor_, {reinterpret_cast<const char*>(&header), sizeof header}) ||
        ::fdatasync(descriptor_) != 0)
        storage_fault(path_, "can't be written", errno);
    finished_ = true;
}

}  // namespace rldp::data
