/** @file Options that users write in code: a name that nobody knows is refused where it was written, with those that are known. */
import { UserError } from './errors.ts'
import { suggest } from './suggest.ts'
import { shown, userPlace } from './user-code.ts'

/** Every option of a type by name, which the compiler holds complete. */
export type OptionNames<T> = Readonly<Record<keyof T, true>>

/** Throws where a call was given options that it does not have: without types they would have no effect. */
export function refuseOptions(what: string, unknown: object, known: object): void {
  const [name] = Object.keys(unknown)
  if (name === undefined) return
  const names = Object.keys(known)
  const guess = suggest(name, names)
  throw optionError(
    `${what} has no option "${name}"; options: ${names.join(', ') || 'none'}`,
    guess ? `Did you mean ${guess}?` : `Take ${name} out.`,
  )
}

/** Of what was given, all but the known options. */
export function unknownOf(given: object, known: object): object {
  return Object.fromEntries(Object.entries(given).filter(([name]) => !Object.hasOwn(known, name)))
}

export function optionError(message: string, hint: string): UserError {
  const place = userPlace(new Error().stack)
  return new UserError(message, {
    code: 'MODEL_OPTION',
    where: place && { ...place, file: shown(place.file) },
    hint,
  })
}

/** An object of functions for users; a name that it does not have is refused with those that it has. */
export function namesOf<T extends object>(what: string, own: T): T {
  return new Proxy(own, {
    get(target, name) {
      if (typeof name === 'symbol' || name in target || name === 'then' || name === 'toJSON')
        return Reflect.get(target, name)
      const names = Object.keys(target)
      const guess = suggest(name, names)
      throw optionError(
        `there is no ${what}.${name}; there are ${names.map((one) => `${what}.${one}`).join(', ')}`,
        guess ? `Did you mean ${what}.${guess}?` : 'Choose one of these.',
      )
    },
  })
}
