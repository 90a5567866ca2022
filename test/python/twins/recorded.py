"""What steps are recorded of: lines of slot text, hyper-parameters and signs of each twin."""
import random

# Signs up to 2^64 - 1, which no 53-bit number holds.
SIGNS = [0, 1, 2, 3, 5, 8, 13, 9007199254740993, 18446744073709551615]
FEW = [*SIGNS[1:4], SIGNS[-1]]
RATE = 0.001
# For nets some of whose gradients are zero but for rounding: Adam makes a whole step of its sign.
SMALL = 0.00001


def signs(slot, low, high=None, among=SIGNS):
    return [f"{slot}:{sign}" for sign in random.choices(among, k=random.randint(low, high or low))]


def values(slot, count):
    return [f"{slot}:{random.randrange(-1024, 1024) / 1024}" for _ in range(count)]


def label(slot):
    return f"{slot}:{random.randint(0, 1)}"


# --- clicks: 4 slots of dim 2 (the second with several signs, the third sometimes missing), 2 dense values

CTR = {"sparse_inputs_slots": 5, "sparse_feature_dim": 2, "dense_input_dim": 2}


def ctr_line():
    return [label("click"), *values("dense_feature", 2), *signs("1", 1), *signs("2", 1, 3), *signs("3", 0, 1), *signs("4", 1)]


def ctr(rate=RATE, **hyper):
    return {"line": ctr_line, "sparse": ["1", "2", "3", "4"], "hyper": CTR | hyper, "signs": SIGNS, "rate": rate}


# --- impressions: 3 fields, a click and a purchase


def impression_line():
    click = random.randint(0, 1)
    return [*signs("field_0", 1), *signs("field_1", 1, 2), *signs("field_2", 1), f"ctr:{click}", f"cvr:{click * random.randint(0, 1)}"]


def impressions(rate=RATE, **hyper):
    return {
        "line": impression_line, "sparse": ["field_0", "field_1", "field_2"], "signs": SIGNS, "rate": rate,
        "hyper": {"num_field": 3, "sparse_feature_dim": 2, "fc_sizes": [4, 3]} | hyper,
    }


# --- histories: after each item the one that came next and one that did not; what a user took, and an item with the logarithm of its share


def history_line():
    length = random.randint(1, 5)
    return [word for slot in ("history", "next", "other") for word in signs(slot, length)]


def hidden_line():
    """Items 1 to 5; 6 stands for a hidden one. The truth has a place for each of 4."""
    items = [random.randint(1, 5) for _ in range(random.randint(1, 4))]
    hidden = random.randrange(len(items))
    truth = [item if i == hidden else 0 for i, item in enumerate(items)] + [0] * (4 - len(items))
    return [*[f"history:{6 if i == hidden else item}" for i, item in enumerate(items)], *[f"truth:{item}" for item in truth]]


def taken_line():
    return [*signs("history", 1, 4), *signs("item", 1), f"log_share:{-random.randrange(1024, 4096) / 1024}"]


def passerby_line():
    length = random.randint(1, 4)
    one = [word for slot in DMR_SLOTS[3:] for word in signs(slot, 1, among=FEW)]
    return [word for slot in DMR_SLOTS[:3] for word in signs(slot, length, among=FEW)] + one + signs("neg_cate", 2, among=FEW) + values("price", 1) + [label("label")]


def timed_line():
    line = history_line()
    length = len(line) // 3
    times = [random.randrange(1, 9) for _ in range(length)] + [0] * (5 - length)
    return [*line, *[f"time:{time}" for time in times]]


def news_line():
    """Two news that were shown and a history of one or two; titles of up to 2 words, texts of up to 3, filled with the sign 0."""
    read = random.randint(1, 2)
    line = [*signs("category", 4), *signs("sub_category", 4)]
    for slot, size in (("title", 2), ("content", 3)):
        counts = [random.randint(1, size) if i < 2 + read else 0 for i in range(4)]
        line += [word for count in counts for word in (signs(slot, count) if count else []) + [f"{slot}:0"] * (size - count)]
        line += [f"{slot}_words:{count}" for count in counts]
    return line


def session_line():
    """Items 1 to 4 that come back, in 5 places."""
    items = [random.randint(1, 4) for _ in range(random.randint(1, 5))]
    return [*[f"session:{item}" for item in items + [0] * (5 - len(items))], f"label:{random.randint(1, 6)}"]


DMR_SLOTS = [
    "btag_his", "cate_his", "brand_his", "cate_id", "brand", "mid", "campaign_id", "customer", "uid", "cms_segid", "cms_group_id",
    "final_gender_code", "age_level", "pvalue_level", "shopping_level", "occupation", "new_user_class_level", "pid",
]

RECORDED = {
    "match/multiview-simnet": {
        "line": lambda: [*signs("0", 1, 3), *signs("1", 1, 4), *signs("2", 1, 4)], "sparse": ["0", "1", "2"], "signs": SIGNS, "rate": RATE,
        "hyper": {
            "query_encoder": "gru", "title_encoder": "cnn", "query_encode_dim": 3, "title_encode_dim": 4, "embedding_dim": 3, "hidden_size": 3, "margin": 1.5,
            "query_len": 3, "pos_len": 4, "neg_len": 4,
        },
    },
    "recall/tisas": {
        "line": timed_line, "sparse": ["history", "next", "other"], "signs": SIGNS, "rate": SMALL,
        "hyper": {"maxlen": 5, "hidden_units": 4, "num_blocks": 2, "num_heads": 2, "time_span": 4, "dropout_rate": 0},
    },
    "recall/sr_gnn": {
        "line": session_line, "sparse": [], "signs": SIGNS, "rate": RATE,
        "hyper": {"sparse_feature_number": 7, "sparse_feature_dim": 3, "gnn_propogation_steps": 2, "maxlen": 5, "optimizer.l2": 0},
    },
    "treebased/tdm": {
        "line": lambda: [*signs("user", 1, 4), *signs("unit_id", 1), label("label")], "sparse": ["user", "unit_id"], "signs": SIGNS, "rate": RATE,
        "hyper": {"node_emb_size": 3, "att_sizes": [3], "fc_sizes": [4, 3]},
    },
    "rank/naml": {
        "line": news_line, "sparse": ["category", "sub_category", "title", "content"], "signs": SIGNS, "rate": SMALL,
        "hyper": {
            "article_content_size": 3, "article_title_size": 2, "browse_size": 2, "neg_condidate_sample_size": 1, "word_dimension": 2, "category_dimension": 2,
            "conv_out_channel_size": 3, "attention_projection_size": 2,
        },
    },
    "rank/dmr": {
        "line": passerby_line, "sparse": [*DMR_SLOTS, "neg_cate"], "signs": FEW, "rate": SMALL,
        "hyper": {
            "main_embedding_size": 2, "other_embedding_size": 1, "history_length": 3, "neg_num": 2, "att_sizes": [3], "fc_sizes": [4, 3], "aux_weight": 0.5,
        },
    },
    "rank/bert4rec": {
        "line": hidden_line, "sparse": ["history"], "signs": list(range(7)), "rate": SMALL,
        "hyper": {"item_num": 5, "max_len": 4, "hidden_size": 4, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 6, "hidden_dropout_prob": 0},
    },
    "contentunderstanding/textcnn": {
        "line": lambda: [*signs("words", 1, 5), label("label")], "sparse": ["words"], "signs": SIGNS, "rate": RATE,
        "hyper": {"max_len": 5, "emb_dim": 3, "cnn_dim": 2, "cnn_filter_sizes": [1, 2, 3], "hid_dim": 3},
    },
    "contentunderstanding/tagspace": {
        "line": lambda: [*signs("text", 1, 5), *signs("pos_tag", 1), *signs("neg_tag", 2)], "sparse": ["text", "pos_tag", "neg_tag"], "signs": SIGNS, "rate": RATE,
        "adagrad": True, "hyper": {"max_len": 5, "emb_dim": 3, "hid_dim": 4, "win_size": 3, "margin": 0.1, "neg_size": 2},
    },
    "recall/hstu": {
        "line": history_line, "sparse": ["history", "next", "other"], "signs": SIGNS, "rate": RATE, "betas": (0.9, 0.98),
        "hyper": {"maxlen": 3, "hidden_units": 4, "num_blocks": 2, "num_heads": 2, "dropout_rate": 0, "lazy_rows": True},
    },
    "recall/two_tower": {
        "line": taken_line, "sparse": ["history", "item"], "signs": SIGNS, "rate": SMALL,
        "hyper": {"embedding_dim": 4, "fc_sizes": [5, 3], "temperature": 0.5},
    },
    "rank/pnn": ctr(fc_sizes=[4, 3], product_type="inner"),
    "rank/nfm": ctr(SMALL, fc_sizes=[4], dropout_rate=0),
    "rank/afm": ctr(SMALL, attention_size=3, dropout_rate=0),
    "rank/ffm": ctr(),
    "rank/fwfm": ctr(),
    "rank/deepfefm": ctr(fc_sizes=[4, 3]),
    "rank/difm": ctr(fc_sizes=[4], att_factor_dim=2, att_head_num=2),
    "rank/gatenet": ctr(SMALL, fc_sizes=[4, 3]),
    "rank/flen": ctr(fc_sizes=[4, 3], group_sizes=[2, 1, 1]),
    "rank/fgcnn": ctr(fc_sizes=[4], filters=[2, 3], kernel=[3, 2], pooling=[2, 2], new_filters=[1, 2]),
    "rank/wukong": ctr(SMALL, fc_sizes=[4], layer_num=2, fmb_num=3, lcb_num=2, rank=2, fmb_sizes=[4]),
    "multitask/escm2": impressions(counterfact_mode="DR", counterfactual_weight=0.5, global_weight=1, propensity_floor=0.1),
    "multitask/aitm": impressions(constraint_weight=0.6),
    "multitask/pepnet": impressions(SMALL, domain_fields=[2], person_fields=[0, 1]),
}
