// Which script a character belongs to, as Oniguruma's tables have it.
#include <oniguruma.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "models/regex/regex.hpp"
#include "models/tokenizer/text.hpp"

namespace rldp::models {

namespace {

/// Unicode's, as its version 14 names them. Newer ones are of no script here.
constexpr std::string_view all_names =
    "Adlam Ahom Anatolian_hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_vah Batak Bengali Bhaiksuki "
    "Bopomofo Brahmi Braille Buginese Buhid Canadian_aboriginal Carian Caucasian_albanian Chakma Cham Cherokee "
    "Chorasmian Common Coptic Cuneiform Cypriot Cypro_minoan Cyrillic Deseret Devanagari Dives_akuru Dogra Duployan "
    "Egyptian_hieroglyphs Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_gondi "
    "Gurmukhi Han Hangul Hanifi_rohingya Hanunoo Hatran Hebrew Hiragana Imperial_aramaic Inherited "
    "Inscriptional_pahlavi Inscriptional_parthian Javanese Kaithi Kannada Katakana Kayah_li Kharoshthi "
    "Khitan_small_script Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Linear_a Linear_b Lisu Lycian Lydian "
    "Mahajani Makasar Malayalam Mandaic Manichaean Marchen Masaram_gondi Medefaidrin Meetei_mayek Mende_kikakui "
    "Meroitic_cursive Meroitic_hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean Nandinagari "
    "New_tai_lue Newa Nko Nushu Nyiakeng_puachue_hmong Ogham Ol_chiki Old_hungarian Old_italic Old_north_arabian "
    "Old_permic Old_persian Old_sogdian Old_south_arabian Old_turkic Old_uyghur Oriya Osage Osmanya Pahawh_hmong "
    "Palmyrene Pau_cin_hau Phags_pa Phoenician Psalter_pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian "
    "Siddham SignWriting Sinhala Sogdian Sora_sompeng Soyombo Sundanese Syloti_nagri Syriac Tagalog Tagbanwa Tai_le "
    "Tai_tham Tai_viet Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai "
    "Vithkuqi Wancho Warang_citi Yezidi Yi Zanabazar_square ";

std::vector<std::string> script_names() {
    std::vector<std::string> out;
    std::istringstream words{std::string(all_names)};
    for (std::string name; words >> name;) out.push_back(name);
    return out;
}

struct code_range {
    OnigCodePoint first, last;
    std::int32_t script;
};

/// Which script a code point belongs to.
struct script_table {
    std::vector<code_range> ranges;  ///< by their first
    std::int32_t han = 0, hiragana = 0, katakana = 0;

    script_table() {
        start_oniguruma();
        auto* encoding = ONIG_ENCODING_UTF8;
        const auto names = script_names();
        const auto find_number = [&](std::string_view name) {
            return static_cast<std::int32_t>(std::find(names.begin(), names.end(), name) - names.begin());
        };
        han = find_number("Han");
        hiragana = find_number("Hiragana");
        katakana = find_number("Katakana");
        for (auto name : names) {
            auto* begin = reinterpret_cast<OnigUChar*>(name.data());
            const int property = encoding->property_name_to_ctype(encoding, begin, begin + name.size());
            OnigCodePoint single = 0;
            const OnigCodePoint* found = nullptr;
            if (property < 0 || encoding->get_ctype_code_range(static_cast<OnigCtype>(property), &single, &found) != 0)
                continue;  // an older Oniguruma
            for (OnigCodePoint i = 0; i < found[0]; ++i)
                ranges.push_back({found[1 + 2 * i], found[2 + 2 * i], find_number(name)});
        }
        std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    }
};

}  // namespace

std::optional<std::int32_t> find_script(std::int32_t point) {
    static const script_table table;
    constexpr std::int32_t long_vowel = 0x30FC;  // of both kana
    if (point == ' ') return std::nullopt;
    if (point == long_vowel) return table.han;
    const auto wanted = static_cast<OnigCodePoint>(point);
    const auto after = std::upper_bound(table.ranges.begin(), table.ranges.end(), wanted,
                                        [](OnigCodePoint p, const code_range& range) { return p < range.first; });
    if (after == table.ranges.begin() || wanted > std::prev(after)->last) return std::nullopt;
    const auto script = std::prev(after)->script;
    return script == table.hiragana || script == table.katakana ? table.han : script;
}

}  // namespace rldp::models
