/** @file What data/meta.json holds, and its features as input types. */
import { denseVector, type InputType, integerValue, integerValueSequence, sparseBinaryVector } from 'oarfish/trainer'

/** A feature of movies or users: how it is fed, and how many values it has. */
export interface Feature {
  readonly name: string
  readonly type: 'id' | 'embedding' | 'one_hot_dense'
  readonly seq?: 'sequence' | 'no_sequence'
  readonly dim: number
}

export interface Entity {
  readonly features: readonly Feature[]
  /** By the id in the data: the value of each feature, in their order. */
  readonly rows: Readonly<Record<string, readonly (number | readonly number[])[]>>
}

export interface Meta {
  readonly movie: Entity
  readonly user: Entity
}

export function inputTypesOf(meta: Meta): Record<string, InputType> {
  const features = [...meta.movie.features, ...meta.user.features]
  return { ...Object.fromEntries(features.map((feature) => [feature.name, typeOf(feature)])), rating: denseVector(1) }
}

function typeOf({ type, seq, dim }: Feature): InputType {
  if (type === 'one_hot_dense') return sparseBinaryVector(dim)
  return seq === 'sequence' ? integerValueSequence(dim) : integerValue(dim)
}

/** The values of a movie or a user by the names of its features. */
export function valuesOf({ features, rows }: Entity, id: string): Record<string, number | readonly number[]> {
  const row = rows[id]
  if (!row) throw new Error(`data/meta.json has no entry ${id}: run preprocess.sh with the folder of these ratings`)
  return Object.fromEntries(features.map(({ name }, i) => [name, row[i]!]))
}
