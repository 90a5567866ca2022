/** @file `fluid.dataset`: data sets to learn on. */
export { type HousingSample, uciHousing } from './uci-housing.ts'
