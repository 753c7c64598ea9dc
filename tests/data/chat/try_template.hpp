#pragma once
// A template through the door that every model's comes by.
#include <string>
#include <vector>

#include "data/chat/chat_template.hpp"
#include "tests/support/scratch_directory.hpp"

inline const std::vector<rldp::data::chat_message> short_talk = {
    {"system", "Be brief"}, {"user", " Hi there"}, {"assistant", "Hello\nyou"}, {"user", "ça va? "}};

/// Of a model whose directory has this template; its day is 31 January 2026.
inline rldp::data::chat_template as_template(const std::string& source) {
    using namespace std::chrono;
    const scratch_directory model;
    model.write("chat_template.jinja", source);
    model.write("tokenizer_config.json",
                R"({"bos_token": "<s>", "eos_token": {"content": "</s>"}, "pad_token": null, "unk_token": "<unk>"})");
    return *rldp::data::chat_template::read(model.path(), 2026y / January / 31d);
}

inline std::string rendered(const std::string& source) {
    return as_template(source).render(short_talk, false);
}
