"""One query released at several budgets: chains, gradual release, collusion."""

from core.tiers.accounting import (
    analytic_sigma,
    classic_sigma,
    gaussian_delta,
    gaussian_epsilon,
    skellam_delta,
    skellam_intensity,
)
from core.tiers.accuracy import AccuracyFirst, accuracy_first
from core.tiers.bridge import simulate_between, wrong_insertion_epsilon
from core.tiers.budgets import TIER_LIMIT, Budgets, clean_budgets
from core.tiers.categories import CategoryRelease, release_categories, simulate_categories
from core.tiers.category_simulation import METHODS as CATEGORY_METHODS
from core.tiers.category_simulation import simulate_category_mse
from core.tiers.chain import chain_mse, check_chain, ideal_subset_mse, max_ratio, optimal_chain
from core.tiers.checker import ResidualCheck, check_residual
from core.tiers.collusion import PooledCurve, pool_categories, pool_noise, pooled_weights, tier_covariance
from core.tiers.experiments import (
    CLAIMS,
    RANDOM_LISTS,
    ListStudy,
    study_category_lists,
    study_count_lists,
)
from core.tiers.gradual import CollusionCost, collusion_cost, gradual_mse
from core.tiers.hashing import best_hash_range, hashing_chain, hashing_chain_mse, hashing_mse
from core.tiers.heatmap import bound_heatmap, chain_heatmap, template_bound
from core.tiers.insertion import insert_count, insert_subset
from core.tiers.joint import coalition_epsilon, count_coalition_epsilon, joint_law
from core.tiers.lattice import check_step, discrete_gaussian_pmf, staircase_pmf
from core.tiers.lists import READY_LISTS, grid_list, normal_list, uniform_list
from core.tiers.noise import (
    FAMILIES,
    Residual,
    independent_mse,
    multi_tier_mse,
    noise_law,
    reference_mse,
    residual,
)
from core.tiers.postprocess import project_nonnegative, project_total
from core.tiers.record import RecordTiers, draw_record, record_coalition_epsilon, solve_record_tiers
from core.tiers.release import CountRelease, release_count, release_histogram
from core.tiers.response import brr_mse, grr_mse
from core.tiers.simulation import measure_mse, simulate_gradual, simulate_independent, simulate_multi_tier
from core.tiers.subset import best_subset_size, gradual_subset_mse, subset_mse
from core.tiers.template_rules import match_templates, templates

__all__ = [
    "CATEGORY_METHODS",
    "CLAIMS",
    "FAMILIES",
    "RANDOM_LISTS",
    "READY_LISTS",
    "TIER_LIMIT",
    "AccuracyFirst",
    "Budgets",
    "CategoryRelease",
    "CollusionCost",
    "CountRelease",
    "ListStudy",
    "PooledCurve",
    "RecordTiers",
    "Residual",
    "ResidualCheck",
    "accuracy_first",
    "analytic_sigma",
    "best_hash_range",
    "best_subset_size",
    "bound_heatmap",
    "brr_mse",
    "chain_heatmap",
    "chain_mse",
    "check_chain",
    "check_residual",
    "check_step",
    "classic_sigma",
    "clean_budgets",
    "coalition_epsilon",
    "collusion_cost",
    "count_coalition_epsilon",
    "discrete_gaussian_pmf",
    "draw_record",
    "gaussian_delta",
    "gaussian_epsilon",
    "gradual_mse",
    "gradual_subset_mse",
    "grid_list",
    "grr_mse",
    "hashing_chain",
    "hashing_chain_mse",
    "hashing_mse",
    "ideal_subset_mse",
    "independent_mse",
    "insert_count",
    "insert_subset",
    "joint_law",
    "match_templates",
    "max_ratio",
    "measure_mse",
    "multi_tier_mse",
    "noise_law",
    "normal_list",
    "optimal_chain",
    "pool_categories",
    "pool_noise",
    "pooled_weights",
    "project_nonnegative",
    "project_total",
    "record_coalition_epsilon",
    "reference_mse",
    "release_categories",
    "release_count",
    "release_histogram",
    "residual",
    "simulate_between",
    "simulate_categories",
    "simulate_category_mse",
    "simulate_gradual",
    "simulate_independent",
    "simulate_multi_tier",
    "skellam_delta",
    "skellam_intensity",
    "solve_record_tiers",
    "staircase_pmf",
    "study_category_lists",
    "study_count_lists",
    "subset_mse",
    "template_bound",
    "templates",
    "tier_covariance",
    "uniform_list",
    "wrong_insertion_epsilon",
]
