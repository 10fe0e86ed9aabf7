# One fit of one package: Rscript tools.R PACKAGE FOLDER ROWS COLUMNS K P DIVISOR SEED
# Reads FOLDER/data (doubles, column after column), writes FOLDER/loadings and FOLDER/seconds.

given <- commandArgs(trailingOnly = TRUE)
package <- given[1]
folder <- given[2]
sizes <- as.numeric(given[3:8])
rows <- sizes[1]; columns <- sizes[2]; k <- sizes[3]; p <- sizes[4]; divisor <- sizes[5]; seed <- sizes[6]
X <- matrix(readBin(file.path(folder, "data"), "double", rows * columns), rows, columns)

calls <- list(
  msPCA = function(X, k, p) {
    Sigma <- crossprod(X) / divisor
    msPCA::mspca(Sigma, r = k, ks = rep(p, k), verbose = FALSE)$x_best
  },
  "nsprcomp, non-negative" = function(X, k, p) {
    nsprcomp::nsprcomp(X, ncomp = k, k = p, nneg = TRUE, center = FALSE)$rotation
  },
  nsprcomp = function(X, k, p) nsprcomp::nsprcomp(X, ncomp = k, k = p, center = FALSE)$rotation,
  elasticnet = function(X, k, p) {
    elasticnet::spca(X, K = k, para = rep(p, k), type = "predictor", sparse = "varnum")$loadings
  },
  # sumabsv bounds the ℓ1 norm, which is at most √p for p nonzeros.
  PMA = function(X, k, p) PMA::SPC(X, sumabsv = sqrt(p), K = k, trace = FALSE, center = FALSE)$v,
  irlba = function(X, k, p) irlba::ssvd(X, k = k, n = p)$v
)

call <- calls[[package]]
# Once on a few numbers: loading and compiling is not part of the time.
try(call(scale(matrix(rnorm(160), 20, 8), scale = FALSE), 2, 3), silent = TRUE)
set.seed(seed)
# Seconds of the processor: other work on the machine does not count.
started <- sum(proc.time()[1:2])
loadings <- as.matrix(call(X, k, p))
seconds <- sum(proc.time()[1:2]) - started
writeBin(as.numeric(loadings), file.path(folder, "loadings"))
writeLines(format(seconds, digits = 10), file.path(folder, "seconds"))
