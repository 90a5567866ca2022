/** @file Elements from TypeScript. Whatever comes from a run is set as text, never as HTML. */

type Child = Node | string | number | undefined | false | null
type Props = Readonly<Record<string, unknown>>

/** `h('button', { class: 'x', onclick: f }, 'text')`: functions are listeners, `true` is an attribute without a value. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  setProps(element, props)
  element.append(...kept(children))
  return element
}

export function svg(tag: string, props: Props = {}, ...children: readonly Child[]): SVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag)
  setProps(element, props)
  element.append(...kept(children))
  return element
}

function setProps(element: Element, props: Props): void {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === false) continue
    if (typeof value === 'function') element.addEventListener(name.replace(/^on/, ''), value as EventListener)
    else if (name === 'value') (element as HTMLInputElement).value = String(value)
    // Styles by script, since the page's policy refuses attributes of that name.
    else if (name === 'style') Object.assign((element as HTMLElement).style, value)
    else element.setAttribute(name, value === true ? '' : String(value))
  }
}

const kept = (children: readonly Child[]) =>
  children
    .filter((child) => child !== undefined && child !== false && child !== null)
    .map((child) => (child instanceof Node ? child : String(child)))

export function put(parent: Element, ...children: readonly Child[]): void {
  parent.replaceChildren(...kept(children))
}

/** A button that opens a list of what `items` makes; Escape and a click elsewhere close it. */
export function menu(label: string, items: () => readonly Node[]): HTMLElement {
  const list = h('div', { class: 'menu-list', hidden: true })
  const button = h(
    'button',
    { type: 'button', class: 'button', 'aria-expanded': 'false', 'aria-haspopup': 'true' },
    label,
  )
  const close = () => {
    list.hidden = true
    button.setAttribute('aria-expanded', 'false')
  }
  button.addEventListener('click', () => {
    if (!list.hidden) return close()
    put(list, ...items())
    list.hidden = false
    button.setAttribute('aria-expanded', 'true')
    list.querySelector<HTMLElement>('input, button')?.focus()
  })
  const own = h('div', { class: 'menu' }, button, list)
  own.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return
    close()
    button.focus()
  })
  own.addEventListener('focusout', (event) => {
    if (!own.contains(event.relatedTarget as Node | null) && event.relatedTarget) close()
  })
  document.addEventListener('pointerdown', (event) => {
    if (!own.contains(event.target as Node)) close()
  })
  return own
}

/** Tabs by arrow keys, as readers of screens expect them; the panel is made when its tab is chosen. */
export function tabs(
  label: string,
  names: Readonly<Record<string, string>>,
  chosen: string,
  choose: (name: string) => void,
): HTMLElement {
  const keys = Object.keys(names)
  const list = h('div', { class: 'tabs', role: 'tablist', 'aria-label': label })
  for (const name of keys) {
    const isChosen = name === chosen
    const tab = h(
      'button',
      {
        type: 'button',
        role: 'tab',
        id: `tab-${name}`,
        'aria-selected': String(isChosen),
        'aria-controls': 'panel',
        tabindex: isChosen ? 0 : -1,
      },
      names[name],
    )
    tab.addEventListener('click', () => choose(name))
    tab.addEventListener('keydown', (event) => {
      const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
      if (move === undefined) return
      const next = keys[(keys.indexOf(name) + move + keys.length) % keys.length]!
      choose(next)
      document.getElementById(`tab-${next}`)?.focus()
    })
    list.append(tab)
  }
  return list
}
