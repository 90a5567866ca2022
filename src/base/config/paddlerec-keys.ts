/** @file `runner` keys of PaddleRec that Oarfish does not need, and those that single models of its zoo read. */
import { anything, flag, group } from './option.ts'

export const UNNEEDED = group(
  'Known and not needed',
  'Keys of PaddleRec that Oarfish has no use for: accepted and named once.',
  {
    use_xpu: flag(false, 'Kunlun devices.'),
    use_npu: flag(false, 'Ascend devices.'),
    auc_num: anything('How many AUC states to reset; each metric resets itself.'),
    batch_generator: anything('Read and unused in PaddleRec too.'),
    user_define_reader: anything('Read and unused in PaddleRec too.'),
    print_period: anything('Use `print_interval`.'),
    model_path: anything('The model is `model.ts` beside the yaml, or `static_model.ts` and `dygraph_model.ts`.'),
    inference: anything('Use `use_inference`.'),
    CE: anything('A switch of PaddleRec’s own tests.'),
  },
)

const zoo = (model: string) => anything(`Read by PaddleRec’s ${model}; here the same as \`custom.<key>\`.`)

export const ZOO = group(
  'Keys of single models',
  'Some PaddleRec models keep keys of their own under `runner`. They are accepted there and handed to the model as `runner.custom`.',
  {
    batches_per_epoch: zoo('mind'),
    candidate_size: zoo('slot_dnn'),
    counterfact_mode: zoo('escm2'),
    data_batch_size: zoo('bert4rec'),
    days: zoo('online readers'),
    emb_weight_name: zoo('tdm'),
    infer_train_epoch: zoo('metaheac'),
    is_train: zoo('sign and mhcn'),
    mode: zoo('deeprec, ensfm and tisas'),
    out_vec_path: zoo('tdm'),
    pass_per_day: zoo('online readers'),
    random_emb: zoo('kim'),
    rating_file: zoo('mhcn'),
    reader_batch_size: zoo('deeprec'),
    relation_file: zoo('mhcn'),
    shots_shuffle_list: zoo('slot_dnn'),
    test_batch_size: zoo('dssm'),
    test_thread_num: zoo('dssm'),
    top_k: zoo('mhcn'),
    use_out_vec: zoo('tdm'),
    use_save_data: zoo('deepwalk'),
    word_count_dict_path: zoo('word2vec'),
    word_id_dict_path: zoo('word2vec'),
  },
)
