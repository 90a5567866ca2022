import { expect, test } from 'vitest'
import { emptyAuc } from './auc.ts'
import { bucketError, precisionRecallF1, reportText } from './report.ts'

test('AUC says what ctr_metric_bundle measures, and 0 for everything where there is nothing', () => {
  const means = { abserr: 0.25, sqrerr: 0.09, prob: 0.4, q: 0.6, label: 0.5 }
  const histogram = emptyAuc()
  histogram[3000] = 2 // two clicks above
  histogram[histogram.length / 2 + 1000] = 2 // two without, below
  expect(reportText({ kind: 'AUC' }, { samples: 4, means, histogram })).toBe(
    'AUC=1.000000 BUCKET_ERROR=0.000000 MAE=0.250000 RMSE=0.300000 Actural_CTR=0.500000 Predicted_CTR=0.400000 COPC=1.250000 MEAN Q_VALUE=0.600000 Ins number=4',
  )
  expect(reportText({ kind: 'AUC' }, { samples: 0, means: {}, histogram: emptyAuc() })).toMatch(
    /^AUC=0\.000000 .* COPC=0\.000000 .* Ins number=0$/,
  )
})

test('the bucket error counts only stretches with enough samples to tell', () => {
  const histogram = emptyAuc()
  const half = histogram.length / 2
  const at = Math.round(half * 0.2)
  histogram[at] = 300
  histogram[half + at] = 1700 // 15 % clicks where 20 % were predicted: off by a quarter
  expect(bucketError(histogram)).toBeCloseTo(0.25, 3)
  const few = emptyAuc()
  few[at] = 3
  few[half + at] = 17
  expect(bucketError(few)).toBe(0)
})

test('PrecisionRecall counts classes and takes macro F1 of macro precision and recall', () => {
  // Class 0: 2 right, 1 too many, 0 missed. Class 1: 1 right, 0 too many, 1 missed.
  const means = { tp0: 0.5, predicted0: 0.75, actual0: 0.5, tp1: 0.25, predicted1: 0.25, actual1: 0.5 }
  expect(reportText({ kind: 'PrecisionRecall', classNum: 2 }, { samples: 4, means })).toBe(
    'total metrics: [TP, FP, TN, FN]=[[2 1 1 0] [1 0 2 1]]; precision_recall_f1=[0.833333 0.750000 0.789474 0.750000 0.750000 0.750000]',
  )
  expect(precisionRecallF1([{ tp: 0, fp: 0, fn: 0 }])).toEqual([1, 1, 1, 1, 1, 1])
  expect(precisionRecallF1([{ tp: 0, fp: 1, fn: 1 }])).toEqual([0, 0, 0, 0, 0, 0])
})

test('RecallK and PosNegRatio', () => {
  expect(reportText({ kind: 'RecallK', k: 20 }, { samples: 8, means: { hit: 0.25 } })).toBe(
    'InsCnt=8 RecallCnt=2 Acc(Recall@20)=0.25',
  )
  expect(reportText({ kind: 'RecallK', k: 5 }, { samples: 0, means: {} })).toBe('InsCnt=0 RecallCnt=0 Acc(Recall@5)=0')
  expect(reportText({ kind: 'PosNegRatio' }, { samples: 4, means: { right: 0.75 } })).toBe('RightCnt=3 WrongCnt=1 PN=2')
})
