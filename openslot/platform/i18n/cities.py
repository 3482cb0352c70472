"""Names of places that CLDR has not: short ones of countries, and cities whose zone is called after another one."""

from msgspec import Struct


class BigCity(Struct, frozen=True):
    name: str
    """The name in English, and in every language that has no name of its own for it."""
    zone: str
    names: dict[str, str]
    """The names by language tag."""

    def name_in(self, language: str) -> str:
        return self.names.get(language, self.name)


def list_cities() -> tuple[BigCity, ...]:
    return tuple(
        BigCity(name.strip(), zone, dict(each.strip().split(":") for each in others))
        for zone, lines in CITIES.items()
        for name, *others in (line.split(",") for line in lines.strip().splitlines())
    )


# CLDR has no short names of countries.
SHORT_NAMES = {"GB": ("UK", "England", "Scotland", "Wales"), "US": ("USA", "US"), "AE": ("UAE",)}
CITIES = {
    "Africa/Algiers": "Oran, ja:オラン, ar:وهران",
    "Africa/Cairo": "Alexandria, fr:Alexandrie, es:Alejandría, pt:Alexandria, ja:アレクサンドリア, ar:الإسكندرية",
    "Africa/Casablanca": """
        Rabat, ja:ラバト, ar:الرباط
        Marrakesh, de:Marrakesch, fr:Marrakech, pt:Marraquexe, ja:マラケシュ, ar:مراكش
    """,
    "Africa/Johannesburg": """
        Cape Town, de:Kapstadt, fr:Le Cap, es:Ciudad del Cabo, pt:Cidade do Cabo, ja:ケープタウン, ar:كيب تاون
        Durban, ja:ダーバン, ar:ديربان
        Pretoria, ja:プレトリア, ar:بريتوريا
    """,
    "Africa/Lagos": "Abuja, ja:アブジャ, ar:أبوجا",
    "America/Chicago": """
        Austin, ja:オースティン, ar:أوستن
        Dallas, ja:ダラス, ar:دالاس
        Houston, ja:ヒューストン, ar:هيوستن
        Minneapolis, ja:ミネアポリス, ar:مينيابوليس
        New Orleans, fr:La Nouvelle-Orléans, es:Nueva Orleans, pt:Nova Orleans, ja:ニューオーリンズ, ar:نيو أورلينز
        San Antonio, ja:サンアントニオ, ar:سان أنطونيو
    """,
    "America/Denver": "Salt Lake City, ja:ソルトレイクシティ, ar:سولت ليك سيتي",
    "America/Edmonton": "Calgary, ja:カルガリー, ar:كالغاري",
    "America/Guayaquil": "Quito, ja:キト, ar:كيتو",
    "America/Los_Angeles": """
        San Francisco, ja:サンフランシスコ, ar:سان فرانسيسكو
        San Diego, ja:サンディエゴ, ar:سان دييغو
        San Jose, ja:サンノゼ, ar:سان خوسيه
        Seattle, ja:シアトル, ar:سياتل
        Portland, ja:ポートランド, ar:بورتلاند
        Las Vegas, ja:ラスベガス, ar:لاس فيغاس
    """,
    "America/Mexico_City": "Guadalajara, ja:グアダラハラ, ar:غوادالاخارا",
    "America/New_York": """
        Atlanta, ja:アトランタ, ar:أتلانتا
        Boston, ja:ボストン, ar:بوسطن
        Miami, ja:マイアミ, ar:ميامي
        Philadelphia, fr:Philadelphie, es:Filadelfia, pt:Filadélfia, ja:フィラデルフィア, ar:فيلادلفيا
        Washington, ja:ワシントン, ar:واشنطن
    """,
    "America/Sao_Paulo": """
        Rio de Janeiro, ja:リオデジャネイロ, ar:ريو دي جانيرو
        Brasília, de:Brasilia, fr:Brasilia, es:Brasilia, ja:ブラジリア, ar:برازيليا
    """,
    "America/Toronto": """
        Montreal, fr:Montréal, ja:モントリオール, ar:مونتريال
        Ottawa, ja:オタワ, ar:أوتاوا
        Québec, de:Québec, ja:ケベック, ar:كيبك
    """,
    "Asia/Dubai": "Abu Dhabi, fr:Abou Dabi, es:Abu Dabi, ja:アブダビ, ar:أبوظبي",
    "Asia/Ho_Chi_Minh": "Hanoi, fr:Hanoï, es:Hanói, pt:Hanói, ja:ハノイ, ar:هانوي",
    "Asia/Jerusalem": "Tel Aviv, ja:テルアビブ, ar:تل أبيب",
    "Asia/Karachi": """
        Islamabad, ja:イスラマバード, ar:إسلام آباد
        Lahore, ja:ラホール, ar:لاهور
    """,
    "Asia/Kolkata": """
        Ahmedabad, ja:アーメダバード, ar:أحمد آباد
        Bengaluru, ja:ベンガルール, ar:بنغالور
        Bangalore, ja:バンガロール, ar:بنغالور
        Chennai, ja:チェンナイ, ar:تشيناي
        Delhi, ja:デリー, ar:دلهي
        Hyderabad, ja:ハイデラバード, ar:حيدر أباد
        Mumbai, fr:Bombay, es:Bombay, pt:Bombaim, ja:ムンバイ, ar:مومباي
        New Delhi, de:Neu-Delhi, es:Nueva Delhi, pt:Nova Délhi, ja:ニューデリー, ar:نيودلهي
        Pune, ja:プネー, ar:بونه
    """,
    "Asia/Riyadh": """
        Jeddah, de:Dschidda, fr:Djeddah, es:Yeda, pt:Jidá, ja:ジッダ, ar:جدة
        Mecca, de:Mekka, fr:La Mecque, es:La Meca, pt:Meca, ja:メッカ, ar:مكة
    """,
    "Asia/Seoul": "Busan, ja:釜山, ar:بوسان",
    "Asia/Shanghai": """
        Beijing, de:Peking, fr:Pékin, es:Pekín, pt:Pequim, ja:北京, ar:بكين
        Chengdu, ja:成都, ar:تشنغدو
        Chongqing, ja:重慶, ar:تشونغتشينغ
        Guangzhou, fr:Canton, es:Cantón, pt:Cantão, ja:広州, ar:قوانغتشو
        Shenzhen, ja:深圳, ar:شنجن
        Wuhan, ja:武漢, ar:ووهان
    """,
    "Asia/Tokyo": """
        Kyoto, es:Kioto, pt:Quioto, ja:京都, ar:كيوتو
        Nagoya, ja:名古屋, ar:ناغويا
        Osaka, ja:大阪, ar:أوساكا
        Sapporo, ja:札幌, ar:سابورو
        Yokohama, ja:横浜, ar:يوكوهاما
    """,
    "Australia/Sydney": "Canberra, ja:キャンベラ, ar:كانبرا",
    "Europe/Berlin": """
        Cologne, de:Köln, es:Colonia, pt:Colônia, ja:ケルン, ar:كولونيا
        Frankfurt, fr:Francfort, es:Fráncfort, ja:フランクフルト, ar:فرانكفورت
        Hamburg, fr:Hambourg, es:Hamburgo, pt:Hamburgo, ja:ハンブルク, ar:هامبورغ
        Munich, de:München, es:Múnich, pt:Munique, ja:ミュンヘン, ar:ميونخ
        Stuttgart, ja:シュトゥットガルト, ar:شتوتغارت
    """,
    "Europe/Istanbul": "Ankara, pt:Ancara, ja:アンカラ, ar:أنقرة",
    "Europe/London": """
        Birmingham, ja:バーミンガム, ar:برمنغهام
        Edinburgh, fr:Édimbourg, es:Edimburgo, pt:Edimburgo, ja:エディンバラ, ar:إدنبرة
        Glasgow, ja:グラスゴー, ar:غلاسكو
        Manchester, ja:マンチェスター, ar:مانشستر
    """,
    "Europe/Madrid": """
        Barcelona, fr:Barcelone, ja:バルセロナ, ar:برشلونة
        Seville, de:Sevilla, fr:Séville, es:Sevilla, pt:Sevilha, ja:セビリア, ar:إشبيلية
        Valencia, fr:Valence, pt:Valência, ja:バレンシア, ar:بلنسية
    """,
    "Europe/Lisbon": "Porto, es:Oporto, ja:ポルト, ar:بورتو",
    "Europe/Moscow": """
        Saint Petersburg, de:Sankt Petersburg, fr:Saint-Pétersbourg, es:San Petersburgo, pt:São Petersburgo,\
 ja:サンクトペテルブルク, ar:سانت بطرسبرغ
    """,
    "Europe/Paris": """
        Lyon, ja:リヨン, ar:ليون
        Marseille, es:Marsella, pt:Marselha, ja:マルセイユ, ar:مارسيليا
        Toulouse, ja:トゥールーズ, ar:تولوز
    """,
    "Europe/Rome": """
        Milan, de:Mailand, es:Milán, pt:Milão, ja:ミラノ, ar:ميلانو
        Naples, de:Neapel, es:Nápoles, pt:Nápoles, ja:ナポリ, ar:نابولي
        Turin, es:Turín, pt:Turim, ja:トリノ, ar:تورينو
    """,
    "Europe/Warsaw": "Kraków, de:Krakau, fr:Cracovie, es:Cracovia, pt:Cracóvia, ja:クラクフ, ar:كراكوف",
    "Europe/Zurich": """
        Basel, fr:Bâle, es:Basilea, pt:Basileia, ja:バーゼル, ar:بازل
        Bern, fr:Berne, es:Berna, pt:Berna, ja:ベルン, ar:برن
        Geneva, de:Genf, fr:Genève, es:Ginebra, pt:Genebra, ja:ジュネーブ, ar:جنيف
    """,
}
