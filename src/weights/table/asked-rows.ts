/** @file Rows that a tier has asked its store for and that are on their way: which, who waits for them, and what went wrong. */
import { SignsUnderWay } from './signs-under-way.ts'

export class AskedRows {
  readonly #signs = new SignsUnderWay()
  #made = 0
  #over = 0
  /** Each waits for the last request that was made by then. */
  readonly #waiting: { readonly request: number; readonly resolve: () => void }[] = []
  /** Of a request: said by whoever next asks for rows. */
  #failure: Error | undefined

  /** Has those of `signs` sent for that no request under way brings; `send` says when it is over. */
  request(signs: BigUint64Array, send: (own: BigUint64Array, done: (error: Error | undefined) => void) => void): void {
    const number = this.#made + 1
    const own = this.#signs.admit(signs, number)
    if (own.length === 0) return
    this.#made = number
    send(own, (error) => this.#end(number, error))
  }

  /** Resolves when all that was asked for by now is over. */
  async arrived(): Promise<void> {
    const request = this.#made
    if (this.#over < request) await new Promise<void>((resolve) => this.#waiting.push({ request, resolve }))
    this.sayFailure()
  }

  sayFailure(): void {
    if (this.#failure) throw this.#failure
  }

  #end(request: number, error: Error | undefined): void {
    this.#failure ??= error
    this.#over = request
    this.#signs.over(request)
    while (this.#waiting.length > 0 && this.#waiting[0]!.request <= request) this.#waiting.shift()!.resolve()
  }
}
