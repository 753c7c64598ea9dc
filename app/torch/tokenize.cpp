// rldp tokenize: lines of text to token ids and back. Needs a tokenizer, no model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "base/error.hpp"
#include "base/output.hpp"
#include "models/tokenizer/tokenizer.hpp"

namespace rldp::app {

namespace {

struct tokenize_arguments {
    std::string directory;
    bool decode = false;
};

/// Errors: bad_input for anything but an array of ids of the vocabulary.
std::vector<std::int32_t> parse_ids(const std::string& line, std::int64_t vocabulary) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_array()) refuse("write one JSON array of token ids, such as [1, 2, 3]");
    std::vector<std::int32_t> ids;
    for (const auto& item : json) {
        if (!item.is_number_unsigned() || item.get<std::uint64_t>() >= static_cast<std::uint64_t>(vocabulary))
            refuse(fmt::format("{} is not a token id from 0 to {}", item.dump(), vocabulary - 1));
        ids.push_back(item.get<std::int32_t>());
    }
    return ids;
}

std::string convert(const std::string& line, const models::tokenizer& words, bool decode) {
    if (decode) return words.decode(parse_ids(line, words.size()));
    return fmt::format("[{}]", fmt::join(words.encode(line), ","));
}

int tokenize(const tokenize_arguments& given) {
    const auto words = models::tokenizer::load(given.directory);
    std::ios::sync_with_stdio(false);
    std::size_t number = 0;
    for (std::string line; std::getline(std::cin, line);) {
        ++number;
        try {
            say_text(convert(line, *words, given.decode) + "\n");
        } catch (const error& e) {
            throw error(e.code(), fmt::format("standard input, line {}: {}", number, e.what()));
        }
    }
    return 0;
}

}  // namespace

void add_tokenize(CLI::App& program, action& chosen) {
    auto* command = add_torch_command(program, "tokenize");
    auto given = std::make_shared<tokenize_arguments>();
    command
        ->add_option("model", given->directory,
                     "directory with tokenizer.json, vocab.json and merges.txt, or tokenizer.model")
        ->required();
    command->add_flag("--decode", given->decode, "the reverse: JSON arrays of ids into text, special tokens left out");
    command->footer(
        "Example: echo 'Once upon a time' | rldp tokenize config/tiny-gpt2\n"
        "Ids are those of Hugging Face's tokenizer(text): with the special tokens that the tokenizer itself adds.");
    command->callback([given, &chosen] { chosen = [given] { return tokenize(*given); }; });
}

}  // namespace rldp::app
