import { describe, expect, test } from 'vitest'
import { createRng } from '../../base/util/index.ts'
import { GROUP_ENTRIES, GroupedAuc } from './grouped-auc.ts'

interface Sample {
  readonly user: bigint
  readonly prediction: number
  readonly label: boolean
  readonly weight: number
}

/** Predictions on the grid of buckets, so that the plain reference is exact. */
function samplesOf(count: number, users: number): Sample[] {
  const rng = createRng(7n)
  return Array.from({ length: count }, () => ({
    user: BigInt(rng.below(users)) * 0x1_0000_0001n,
    prediction: rng.below(4096) / 4096,
    label: rng.uniform() < 0.4,
    weight: 1 + rng.below(3),
  }))
}

/** By pairs: the share of weight in which the positive scores higher; a tie counts half. */
function plainAuc(samples: readonly Sample[]): number {
  let [above, all] = [0, 0]
  for (const p of samples.filter(({ label }) => label)) {
    for (const n of samples.filter(({ label }) => !label)) {
      const weight = p.weight * n.weight
      above += weight * (p.prediction > n.prediction ? 1 : p.prediction === n.prediction ? 0.5 : 0)
      all += weight
    }
  }
  return above / all
}

function plainGauc(samples: readonly Sample[]): number {
  const keys = [...new Set(samples.map(({ user }) => user))]
  const users = keys.map((user) => samples.filter((own) => own.user === user))
  const both = users.filter((own) => own.some(({ label }) => label) && own.some(({ label }) => !label))
  const size = (own: readonly Sample[]) => own.reduce((sum, { weight }) => sum + weight, 0)
  return both.reduce((sum, own) => sum + plainAuc(own) * size(own), 0) / both.reduce((sum, own) => sum + size(own), 0)
}

function counted(samples: readonly Sample[], limit = GROUP_ENTRIES): GroupedAuc {
  const groups = new GroupedAuc(limit, false)
  for (const { user, prediction, label, weight } of samples) groups.add(user, prediction, label, weight)
  return groups
}

const sorted = (groups: GroupedAuc) => groups.groups().map(({ key, auc }) => [key, auc])

describe('AUC within groups', () => {
  test('is the mean over groups by their weight, as plain code computes it', () => {
    const samples = samplesOf(600, 20)
    expect(counted(samples).mean()).toBeCloseTo(plainGauc(samples), 12)
    const [largest] = counted(samples).groups()
    expect(largest!.auc).toBeCloseTo(plainAuc(samples.filter(({ user }) => user === largest!.key)), 12)
  })

  test('leaves out groups of one label, and is 0.5 where no other is left', () => {
    const groups = new GroupedAuc(GROUP_ENTRIES, false)
    groups.add(1n, 0.9, true)
    groups.add(1n, 0.1, true)
    expect(groups.mean()).toBe(0.5)
    groups.add(2n, 0.9, true)
    groups.add(2n, 0.1, false)
    expect(groups.mean()).toBe(1)
  })

  test('is the same whoever counted: parts merge to the whole, also a group with many buckets', () => {
    const samples = samplesOf(3000, 5)
    const parts = [0, 1, 2].map((part) => counted(samples.filter((_, i) => i % 3 === part)).state())
    expect(GroupedAuc.merged(parts).mean()).toBeCloseTo(counted(samples).mean(), 12)
    expect(sorted(GroupedAuc.merged(parts))).toEqual(sorted(counted(samples)))
  })

  test('keeps a bounded part of the groups, the same for any order and any division', () => {
    const samples = samplesOf(20_000, 2000)
    const whole = counted(samples, 4000)
    expect(whole.oneIn).toBe(8)
    expect(whole.state().length).toBeLessThan(3 + 4000 * 6)
    const parts = [0, 1, 2].map((part) =>
      counted(
        samples.filter((_, i) => i % 3 === part),
        4000,
      ).state(),
    )
    expect(sorted(GroupedAuc.merged(parts))).toEqual(sorted(whole))
    expect(sorted(counted([...samples].reverse(), 4000))).toEqual(sorted(whole))
    const kept = new Set(whole.groups().map(({ key }) => key))
    expect(whole.mean()).toBeCloseTo(plainGauc(samples.filter(({ user }) => kept.has(user))), 12)
  })
})
