#include "models/tokenizer/beside.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "models/tokenizer/reader.hpp"

namespace rldp::models {

namespace {

/// The names that transformers gives tokens, in its order.
constexpr std::array<const char*, 7> token_names{"bos_token", "eos_token", "unk_token", "sep_token",
                                                 "pad_token", "cls_token", "mask_token"};

std::optional<nlohmann::json> read_if_there(const std::filesystem::path& file) {
    if (!std::filesystem::exists(file)) return std::nullopt;
    return read_json(file);
}

/// "text", or {"content": "text", "lstrip": …}. One that has a name is special.
stated_token read_token(const json_at& at, bool has_name) {
    if (at.value().is_string()) return {.content = at.text(), .special = has_name, .where = at.where()};
    if (at.flag("single_word", false)) at.at("single_word").refuse_with("is not supported; only false is");
    const bool special = has_name || at.flag("special", false);
    return {.content = at.at("content").text(),
            .normalized = at.flag("normalized", !special),
            .special = special,
            .strips = {at.flag("lstrip", false), at.flag("rstrip", false)},
            .where = at.where()};
}

std::optional<bool> read_flag(const json_at& root, const char* name) {
    if (!root.find(name)) return std::nullopt;
    return root.flag(name, false);
}

std::int32_t read_id(const std::string& text, const json_at& at) {
    if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != std::string::npos)
        at.refuse_with("must be an id, from 0 on");
    return std::stoi(text);
}

class settings_reader {
  public:
    explicit settings_reader(const std::filesystem::path& directory) : directory_(directory) {
        read_model();
        const auto config = read_if_there(directory / "tokenizer_config.json");
        const json_at root(config ? *config : empty_, (directory / "tokenizer_config.json").string());
        out_.has_config = config.has_value();
        read_flags(root);
        read_names(root);
        if (const auto section = root.find("added_tokens_decoder")) {
            for (const auto& [id, token] : section->value().items()) {
                const auto at = section->at(id);
                auto one = read_token(at, false);
                one.id = read_id(id, at);
                with_id_[*one.id] = std::move(one);
            }
        } else {
            read_older_files();
        }
    }

    stated_settings done() {
        if (const auto bos = named_.find("bos_token"); bos != named_.end()) out_.bos = bos->second.content;
        if (const auto eos = named_.find("eos_token"); eos != named_.end()) out_.eos = eos->second.content;
        for (auto& [id, token] : with_id_) out_.tokens.push_back(std::move(token));
        for (const auto* name : token_names)
            if (const auto found = named_.find(name); found != named_.end()) add_named(found->second);
        for (auto& token : listed_) add_named(std::move(token));
        return std::move(out_);
    }

  private:
    void read_model() {
        const auto file = directory_ / "config.json";
        const auto config = read_if_there(file);
        if (!config || !config->is_object()) return;
        const json_at root(*config, file.string());
        if (const auto type = root.find("model_type")) out_.model_type = type->text();
        // Of a model that also sees, its text's.
        const auto inner = root.find("text_config");
        const auto rows = root.find("vocab_size") || !inner ? root.find("vocab_size") : inner->find("vocab_size");
        if (rows && rows->value().is_number_integer()) out_.rows = rows->value().get<std::int64_t>();
        read_class(root);
    }

    void read_class(const json_at& root) {
        const auto named = root.find("tokenizer_class");
        if (!named) return;
        out_.kind = out_.class_name = named->text();
        out_.kind_where = named->where();
        for (const std::string ending : {"Fast", "Tokenizer"})
            if (out_.kind.ends_with(ending)) out_.kind.resize(out_.kind.size() - ending.size());
    }

    void read_flags(const json_at& root) {
        read_class(root);
        out_.add_bos = read_flag(root, "add_bos_token");
        out_.add_eos = read_flag(root, "add_eos_token");
        out_.add_prefix_space = read_flag(root, "add_prefix_space");
        out_.legacy = read_flag(root, "legacy");
        out_.split_special = root.flag("split_special_tokens", false);
    }

    void read_names(const json_at& root) {
        if (root.value().contains("bos_token")) out_.bos_is_open = false;
        if (root.value().contains("eos_token")) out_.eos_is_open = false;
        for (const auto* name : token_names) {
            if (const auto token = root.find(name)) named_[name] = read_token(*token, true);
        }
        read_lists(root);
    }

    /// The older name counts where no list has the present one, in this file or one before, as in transformers 5.
    void read_lists(const json_at& root) {
        constexpr const char *present = "extra_special_tokens", *older = "additional_special_tokens";
        const auto by_present = root.find(present), by_older = root.find(older);
        const bool is_object = by_present && by_present->value().is_object();
        if (by_present) read_list(*by_present);
        if (by_older && !has_list_ && (is_object || !by_present || by_present->value().empty())) read_list(*by_older);
        has_list_ |= root.value().contains(older) || (root.value().contains(present) && !is_object);
    }

    /// A list, or an object that gives each a name of its own.
    void read_list(const json_at& list) {
        for (const auto& [key, token] : list.value().items())
            listed_.push_back(read_token(json_at(token, list.where(), key), true));
    }

    void read_older_files() {
        if (const auto map = read_if_there(directory_ / "special_tokens_map.json"))
            read_names(json_at(*map, (directory_ / "special_tokens_map.json").string()));
        const auto file = directory_ / "added_tokens.json";
        const auto added = read_if_there(file);
        if (!added) return;
        const json_at root(*added, file.string());
        if (!added->is_object()) root.refuse_with("must be an object of tokens and their ids");
        for (const auto& [content, id] : added->items()) {
            const json_at at(id, file.string(), "token " + nlohmann::json(content).dump());
            const bool special = is_named(content);
            stated_token one{
                .content = content, .id = at.id(), .normalized = !special, .special = special, .where = at.where()};
            if (!with_id_.emplace(*one.id, one).second) at.refuse_with("its id is another token's too");
        }
    }

    bool is_named(const std::string& content) const {
        const auto is = [&](const stated_token& one) { return one.content == content; };
        return std::any_of(named_.begin(), named_.end(), [&](const auto& one) { return is(one.second); }) ||
               std::any_of(listed_.begin(), listed_.end(), is);
    }

    void add_named(stated_token token) {
        const auto known = std::find_if(out_.tokens.begin(), out_.tokens.end(),
                                        [&](const stated_token& one) { return one.content == token.content; });
        if (known == out_.tokens.end())
            out_.tokens.push_back(std::move(token));
        else
            known->special = true;
    }

    std::filesystem::path directory_;
    const nlohmann::json empty_ = nlohmann::json::object();
    stated_settings out_;
    std::map<std::int32_t, stated_token> with_id_;
    std::map<std::string, stated_token> named_;
    std::vector<stated_token> listed_;
    bool has_list_ = false;  ///< a file read so far gave a list of them, though it be empty
};

}  // namespace

stated_settings read_settings(const std::filesystem::path& directory) {
    return settings_reader(directory).done();
}

}  // namespace rldp::models
