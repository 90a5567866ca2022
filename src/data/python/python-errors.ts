/** @file What a person reads about a Python reader that failed: its own traceback, its file and line, the sample and what to do. */
import { UserError } from '../../base/util/index.ts'
import type { FailedHeader } from './frames.ts'
import type { PythonEnd } from './python-process.ts'

export interface ReaderPlace {
  readonly path: string
  /** The data file, or the first of several. */
  readonly file: string
  readonly files: number
}

/** An exception in the reader. */
export function readerRaised({ path, file, files }: ReaderPlace, failed: FailedHeader): UserError {
  const { sample, message, traceback, place, missing } = failed
  const of = files > 1 ? `the ${files} files from ${file} on` : file
  const when =
    sample === 0
      ? 'when it was loaded'
      : sample === 1
        ? `before its first sample of ${of}`
        : `at sample ${sample} of ${of}`
  return new UserError(`The Python reader failed ${when}: ${message}`, {
    code: 'DATA_PYTHON',
    where: place ?? { file: path },
    hint: [traceback, missing ? missingHint(missing, failed.python) : failed.plain && PLAIN].filter(Boolean).join('\n'),
  })
}

const PLAIN =
  'numpy is not installed; the reader ran with a small stand-in for it, which may be the reason: python3 -m pip install numpy'

function missingHint(name: string, python: string): string {
  const top = name.split('.')[0]!
  const known = top === 'paddle' ? 'paddlepaddle' : top
  return `Python ${python} has no ${top}: install it with python3 -m pip install ${known}, or write the reader as reader.ts.`
}

const ORDER = 'Fields are taken in the order of the model’s slots, or by name where a sample is a dict.'
const WIDTH =
  'A dense slot has as many values in every sample. A reader that pads to the longest sample of each batch, as din’s does, pads to one width for all, or gives ids, of which a sparse slot takes any number.'

/** A sample that does not fit the model's slots; samples count from 1. */
export function sampleRefused({ path, file }: ReaderPlace, sample: number, message: string): UserError {
  return new UserError(
    `The Python reader's sample does not fit the model, at sample ${sample} of ${file}: ${message}.`,
    {
      code: 'DATA_SAMPLE',
      where: { file: path },
      hint: /expected \d+ values/.test(message) ? `${ORDER} ${WIDTH}` : ORDER,
    },
  )
}

/** The process ended without a word. */
export function readerEnded({ path, file }: ReaderPlace, end: PythonEnd): UserError {
  const { code, signal, error, stderr } = end
  if (code === 127)
    return new UserError('The reader is written in Python, and there is no python3 on this machine’s PATH.', {
      code: 'DATA_PYTHON',
      where: { file: path },
      hint: `Install Python 3, or write it as ${path.replace(/\.py$/, '.ts')}, or read the files as they are with runner.train_reader_path: "" (and infer_reader_path).`,
    })
  const how = error
    ? `could not be started: ${error.message}`
    : signal
      ? `was ended by ${signal}`
      : `ended with exit status ${code}`
  const lines = stderr.trimEnd().split('\n').slice(-12).join('\n')
  const said = lines === '' ? 'It wrote nothing to stderr.' : `Its last lines on stderr:\n${lines}`
  return new UserError(`The process of the Python reader ${how}, while it read ${file}.`, {
    code: 'DATA_PYTHON',
    where: { file: path },
    hint: signal === 'SIGKILL' ? `${said}\nThe system ends processes like this when memory runs out.` : said,
  })
}
