#pragma once
// A token_corpus in a file: made once, then open to any number of processes, which share what they read of it.
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/units/load_tokens.hpp"

namespace rldp::data {

// The file. Records lie in it sealed (XSalsa20-Poly1305), each on its own, so that one is opened when it is drawn, what
// is damaged is told, and nothing is left to read once the key is gone; how long records are can be read. Layout,
// little-endian:
//
//   0       "RLDPcor2", 32 bytes that make the file's key from the cache's, six 64-bit numbers (corpus_shape), a tag
//   4096    sealed records: 4 bytes a token and 16, in the order in which they were read
//   index   8 bytes a block of records (where it begins), 12 a record (its block, place and tokens), 4 a unit
//   head    sealed: everything else of a token_corpus, as CBOR

using corpus_key = std::array<unsigned char, 32>;

namespace detail {

struct corpus_shape {
    std::uint64_t index = 0, head = 0, end = 0;        ///< where they begin, in bytes
    std::uint64_t blocks = 0, records = 0, units = 0;  ///< in the index
};

/// Where a record lies: none of one that was left out.
struct corpus_span {
    std::uint32_t block = 0, begin = 0, length = 0;  ///< begin: bytes from the block's; length: tokens
};

}  // namespace detail

/// The training units of such a file. Safe to share between threads.
class corpus_file {
  public:
    /// Nothing where the file is not there, is damaged in index or head, or was made under another key. Of the corpus,
    /// `train` is this file. Errors: storage_error where it can't be read.
    static std::optional<token_corpus> open(const std::filesystem::path& path, const corpus_key& key);
    ~corpus_file();
    corpus_file(const corpus_file&) = delete;
    corpus_file& operator=(const corpus_file&) = delete;

    std::size_t size() const;  ///< units
    /// Errors: failed where its records are damaged, naming the file.
    unit_view operator[](std::size_t unit) const;

  private:
    struct state;
    explicit corpus_file(std::unique_ptr<state> inside);
    std::unique_ptr<state> state_;
};

/// Makes one under a name of its own; without finish() nothing is left of it.
class corpus_writer final : public token_sink {
  public:
    /// Errors: storage_error, here and below, where it can't be written.
    corpus_writer(std::filesystem::path path, const corpus_key& key);
    ~corpus_writer() override;
    corpus_writer(const corpus_writer&) = delete;
    corpus_writer& operator=(const corpus_writer&) = delete;

    void begin(std::vector<std::uint32_t> first, int threads) override;
    void take(std::size_t worker, std::uint32_t record, const std::vector<std::int32_t>& tokens) override;
    void settle() override;
    /// The rest of the corpus, and everything durable.
    void finish(const token_corpus& rest);

  private:
    void write(std::span<const char> bytes);

    std::filesystem::path path_;
    int descriptor_ = -1;
    bool finished_ = false;
    std::uint64_t end_ = 0;  ///< of what is written
    std::array<unsigned char, 32> salt_;
    corpus_key key_;
    std::vector<std::uint64_t> blocks_;
    std::vector<detail::corpus_span> records_;
    std::vector<std::uint32_t> first_;
    std::vector<std::uint32_t> open_;         ///< each worker's block
    std::vector<std::vector<char>> growing_;  ///< and its sealed records so far
};

}  // namespace rldp::data

namespace rldp::data::detail {

// Head. Internal: what a corpus_file says beside its tokens, as bytes.

/// CBOR of everything but `train`.
std::vector<std::uint8_t> encode_head(const token_corpus& corpus);
token_corpus corpus_from(std::span<const std::uint8_t> head);

}  // namespace rldp::data::detail
