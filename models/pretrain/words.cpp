// Words and phrases of the synthetic prose.
#include "models/pretrain/grammar.hpp"

namespace rldp::models {

std::array<std::string_view, 3> prose_grammar() {
    return {prose_words, prose_scenes, prose_papers};
}

const std::string_view prose_words = R"(
woman = Anna|Maria|Helen|Ruth|Clara|Edith|Rosa|Nora|Ingrid|Leila|Amara|Sofia|Joan|Agnes|Miriam|Priya|Yuki|Elena|Grace|Olga
  |Beatrice|Fatima|Hannah|Iris|Judith|Katherine|Lucy|Martha|Naomi|Petra|Rachel|Susan|Teresa|Vera|Winifred|Zoe;
man = Thomas|Peter|Karl|George|Samuel|Henry|Walter|Ivan|Omar|Daniel|Paul|Victor|Arthur|Felix|Hugo|Rajan|Kenji|Oscar|Frank
  |Albert|Benjamin|Charles|David|Edward|Gabriel|Isaac|James|Leo|Martin|Noah|Philip|Quentin|Robert|Simon|Theo|William;
person = {woman}|{man};
surname = Brown|Weaver|Miller|Okafor|Hansen|Novak|Rossi|Silva|Tanaka|Walker|Fisher|Berg|Lindqvist|Moreau|Patel|Kowalski
  |Carter|Dietrich|Ellis|Fontaine|Griffin|Hughes|Ivanova|Jensen|Keller|Larsen|Mercer|Nolan|Osborne|Quigley|Reyes|Sandoval|{Made}|{Made};
title = Mrs.|Mr.|Miss|Doctor|Professor|Captain|Aunt|Uncle;
relative = sister|brother|mother|father|grandmother|grandfather|cousin|daughter|son|neighbor|nephew|niece|husband|wife|old friend;
job = baker|carpenter|nurse|teacher|pilot|farmer|librarian|gardener|porter|painter|mechanic|surgeon|cook|driver|tailor
  |clerk|engineer|musician|postman|fisherman|doctor|shepherd|printer|builder|pharmacist|cleaner|judge|guard|student|waiter;
animal = dog|cat|horse|goat|sparrow|crow|fox|hen|rabbit|donkey|owl|mouse|duck|sheep|cow|heron|pigeon|hedgehog|squirrel|beetle
  |swan|trout|frog|bee|wolf|bear;
tree = oak|birch|willow|apple tree|pine|maple|elm|cherry tree|walnut tree|ash|chestnut;
flower = rose|tulip|daisy|lily|poppy|violet|marigold|lavender|sunflower|iris|primrose;
fruit = apple|pear|plum|cherry|peach|fig|orange|lemon|apricot|melon|strawberry|raspberry;
vegetable = carrot|potato|onion|cabbage|leek|turnip|pumpkin|radish|cucumber|pepper|tomato|bean;
food = bread|soup|cheese|rice|porridge|stew|pie|cake|salad|butter|honey|jam|noodles|roast chicken|toast|pancakes;
drink = tea|coffee|milk|water|lemonade|cider|cocoa|apple juice;
tool = hammer|saw|spade|rake|needle|ladder|bucket|brush|knife|rope|lantern|wrench|drill|broom|chisel|file|basket|shovel|axe|pump;
thing = letter|book|key|box|coat|hat|clock|chair|table|lamp|mirror|map|bottle|umbrella|bag|bell|candle|carpet|cup|plate|window
  |door|picture|pencil|notebook|radio|suitcase|ticket|blanket|ring|bicycle|newspaper|kettle|piano|photograph|glove|shirt|wheel
  |purse|parcel|flute|telescope|compass|drum|kite|violin|towel|spoon|stamp|coin|button|pillow;
room = kitchen|hall|bedroom|attic|cellar|study|pantry|parlor|bathroom|workshop|corridor|office|waiting room|classroom|dining room;
building = house|school|church|library|hotel|station|theater|factory|mill|museum|barn|bakery|post office|town hall|inn|farm
  |hospital|pharmacy|bank|court|harbor office|greenhouse|lighthouse|stable|garage|laboratory|shop;
place = garden|market|park|bridge|harbor|river bank|square|forest|hill|valley|beach|orchard|meadow|lane|main road|old wall
  |railway line|village green|canal|field|lake|path|quarry|cemetery|playground;
town = Ashford|Milltown|Riverton|Oakham|Westbury|Norwick|Stonebridge|Elmsworth|Harwell|Larkfield|Dunmore|Castleton|Fairhaven
  |Kingsport|Brookside|Greenvale|Saltmarsh|Northgate|Thornbury|Wexley|Silverdale|Longmere|Eastcliff|Hollowell|{Made}|{Made}|{Made};
street = Mill Street|Church Lane|Station Road|High Street|Bridge Street|Park Avenue|Orchard Road|King Street|Queen Street|Hill Road
  |Castle Street|River Road|Market Street|Garden Lane|School Road|North Street|Forest Drive;
color = red|blue|green|yellow|white|black|brown|gray|orange|purple|pale|golden|silver|dark green|light blue;
size = small|large|tiny|long|short|wide|narrow|tall|heavy|light|huge|thick|thin|round|square|deep|low;
state = old|new|broken|clean|empty|full|wet|dry|warm|cold|open|locked|dusty|lost|ready|quiet|bright|dark|plain|painted|wooden
  |folded|rusty|polished|borrowed|forgotten|cracked|repaired|useful|strange|expensive|cheap|closed|soft|sharp|heavy;
feeling = happy|tired|hungry|proud|worried|calm|curious|lonely|angry|cheerful|surprised|grateful|nervous|patient|sleepy|thirsty
  |bored|relieved|sad|hopeful|ashamed|jealous|busy|afraid;
manner = slowly|quickly|quietly|carefully|gladly|loudly|gently|politely|suddenly|again and again|without a word|with great care
  |in silence|at once|by mistake|for a while|as usual|with a smile|with difficulty|in a hurry|all the same;
weekday = Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday;
month = January|February|March|April|May|June|July|August|September|October|November|December;
season = spring|summer|autumn|winter;
daypart = morning|afternoon|evening|night;
when = in the {daypart}|on {weekday}|at noon|after breakfast|before supper|last {weekday}|every {weekday}|at {clock}|in {month}
  |in early {season}|late in the {daypart}|two days later|after the rain|once a week|an hour later|the next {daypart}
  |during the holidays|since {year}|before sunrise|for {count} days|within {count} weeks|after {count} minutes|until {weekday}
  |a little after {clock}|between {#1-5} and {#6-11} o'clock|less than an hour ago|more than {count} years ago;
year = {#1880-1999}|{#1950-2019}|{#2000-2024};
clock = {#1-12}:{@9} o'clock|{#1-12}:{#10-59}|half past {word_number}|a quarter to {word_number}|{word_number} o'clock;
word_number = one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve;
count = two|three|four|five|six|seven|eight|ten|a dozen|twenty|{#2-9}|{#10-99}|{#11-60};
date = {#1-28} {month} {year}|{month} {#1-28}, {year}|{weekday}, {#1-28} {month}|{#1-28}/{#1-12}/{year}|{year}-{#10-12}-{#10-28};
money = {#1-99} dollars|{#1-99}.{@99} dollars|${#1-999}|{#2-90} cents|{#100-900} pounds|{#2-40} pounds and {#10-99} pence;
quantity = {#2-99} boxes|{#2-40} bags|{#2-12} bottles|a pair|{#2-30} sheets|{#3-60} pieces|half a dozen|{#100-990} grams|{#2-50} liters
  |{#1-9} and a half kilos|{#1-9}.{@9} meters|{#2-90} percent|{#2-30} crates|{#1-9},{@999} tons;
code = {@AA99}|{@A-999}|{@99-A}|{@AAA-99}|{@9A9}|{@A9A9}|{@999.9}|{@99.99}|{@A99}|{@9999}|{@AX9XX}|{@XXXXXX}|{@XXXXXXXX}|{@XXXXXXXXXX};
key = code|number|label|box|room|locker|ticket|part|order|shelf|page|entry|badge|password|tag|serial|batch|gate|platform|key;
adjective = {color}|{size}|{state}|{state};
noun = {thing}|{tool}|{animal}|{thing}|{building}|{tree}|{flower}|{fruit}|{vegetable};
object = the {thing}|the {adjective} {thing}|a~ {adjective} {thing}|a~ {thing}|the {tool}|a~ {adjective} {tool}|some {food}
  |the {size} {color} {thing}|her {thing}|his {thing}|their {tool}s|the {relative}'s {thing}|{count} {fruit}s|the last {fruit}
  |a cup of {drink}|a {size} piece of {food}|the {thing} from {town}|{count} {adjective} {thing}s|the {job}'s {tool};
someone = {who:person}|{who:person}|{friend:person}|the {job}|the {adjective} {animal}|her {relative}|his {relative}|the {job}'s {relative}
  |{title} {surname}|{person}|the children|a~ {feeling} {job}|an old {job} from {town}|two {job}s|the {feeling} {relative}|everyone
  |nobody|one of the {job}s|{who:person} and {friend:person};
where = in the {room}|at the {building}|near the {building}|by the {place}|under the {tree}|behind the {building}|in {spot:town}
  |on the table|beside the {thing}|across the {place}|in front of the {building}|on {street}|at the end of the {place}
  |between the {building} and the {place}|above the {building}|at home|next to the {tool}s|upstairs|on the other side of the {place}
  |outside {spot:town}|along the {place}|inside the {adjective} {thing}|on the floor of the {room};
verb = carried|found|bought|lost|painted|repaired|borrowed|cleaned|opened|dropped|moved|wanted|needed|forgot|kept|sold|hid|noticed
  |brought|packed|washed|broke|admired|counted|described|examined|collected|measured|lifted|returned|ordered|made|chose|drew
  |delivered|weighed|wrapped|covered|pushed|pulled|checked|received|offered|showed|touched|tested|changed|mended;
verb_now = carries|finds|buys|paints|repairs|cleans|opens|moves|needs|keeps|sells|brings|washes|counts|collects|measures|checks
  |orders|wants|delivers|weighs|receives|remembers|describes|changes|shows|mends|draws;
verb_base = carry|find|buy|paint|repair|clean|open|move|keep|sell|bring|wash|count|collect|measure|check|order|deliver|weigh
  |change|show|borrow|return|mend|draw|examine|close|choose|test|cover|wrap|hide|watch;
went = walked|ran|drove|went|hurried|wandered|cycled|came|traveled|climbed|rushed|stepped|sailed|marched|returned;
sat = sat|stood|waited|slept|worked|rested|stayed|played|lived|sang|talked|laughed|read|listened|watched the {animal}s;
said = said|whispered|answered|replied|shouted|explained|asked|added|repeated|thought|wrote|promised|insisted;
because = because {reason}|since {reason}|although {reason}|while {reason}|until {reason}|but {reason}|so {reason}|and {reason}|when {reason};
reason = the {place} was {state}|it was {weather_word}|{someone} was {feeling}|the {thing} was {state}|there was no {food} left
  |the {building} was closed|{someone} had {verb_past} it|the {animal} was {feeling}|it cost {money}|the road was long|the train was late
  |the {job} had asked for it|nothing else was left|the {room} was too {size}|the others were waiting|it was almost {clock};
verb_past = lost|found|sold|taken|brought|forgotten|repaired|painted|hidden|broken|bought|borrowed|cleaned|ordered|moved|changed|seen;
weather_word = raining|snowing|cold|warm|windy|foggy|cloudy|sunny|humid|freezing|mild|stormy|dark|hot;
part = ba|be|bi|bo|ca|co|da|de|di|do|fa|fe|fi|ga|ge|gli|gly|ha|he|ka|ki|la|le|li|lo|ma|me|mi|mo|na|ne|ni|no|pa|pe|pi|po|ra|re|ri|ro
  |sa|se|si|so|ta|te|ti|to|tra|tro|va|ve|vi|vo|xa|xi|za|ze|zo|zi|chlo|pro|pre|gra|sta|ste|thi|phe|qui|ur|en|an|or|al|ex|in|ac|am|ul|br|st;
ending = n|l|r|s|ne|de|te|ze|x|m|mine|pan|zine|lin|ton|mer|vin|dol|phen|dine|sol|cin|ra|lia|num|stan|berg|ford|by|wick|ham|one|ide|ose|an|ic;
made = {part}{ending}|{part}{part}{ending}|{part}{part}{part}{ending}|{part}{part}{part}{part}{ending};
)";

}  // namespace rldp::models
